#include "hlo/file/format.h"

namespace smelt::hlo {

std::optional<FileFormat> FormatOf(std::string_view path) {
  struct PackedEnding {
    std::string_view ending;
    Compression compression;
  };
  static constexpr PackedEnding kPacked[] = {{".gz", Compression::kGzip}, {".zst", Compression::kZstd}};
  struct FormEnding {
    std::string_view ending;
    ModuleForm form;
  };
  static constexpr FormEnding kForms[] = {{".hlo", ModuleForm::kText},
                                          {".txt", ModuleForm::kText},
                                          {".pb", ModuleForm::kBinaryProto},
                                          {".pbtxt", ModuleForm::kTextProto},
                                          {".textproto", ModuleForm::kTextProto},
                                          {".txtpb", ModuleForm::kTextProto}};
  Compression compression = Compression::kNone;
  for (const PackedEnding& packed : kPacked) {
    if (!path.ends_with(packed.ending)) continue;
    compression = packed.compression;
    path.remove_suffix(packed.ending.size());
    break;
  }
  for (const FormEnding& form : kForms) {
    if (path.ends_with(form.ending)) return FileFormat{form.form, compression};
  }
  return std::nullopt;
}

}  // namespace smelt::hlo

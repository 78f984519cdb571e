#include "hlo/file/write.h"

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/write_file.h"
#include "hlo/file/format.h"
#include "hlo/proto/writer.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {

absl::Status WriteModuleFile(const std::string& path, const Module& module) {
  const std::optional<FileFormat> format = FormatOf(path);
  if (!format) {
    return absl::InvalidArgumentError(StrCat(path, ": expected a name that ends in one of ", kExtensions));
  }
  std::string bytes;
  if (format->form == ModuleForm::kText) {
    bytes = ToText(module);
  } else {
    const ProtoForm form = format->form == ModuleForm::kBinaryProto ? ProtoForm::kBinary : ProtoForm::kText;
    SMELT_ASSIGN_OR_RETURN(bytes, WriteProto(module, form));
  }
  if (format->compression != Compression::kNone) {
    SMELT_ASSIGN_OR_RETURN(bytes, Compress(bytes, format->compression));
  }
  return WriteFile(path, bytes);
}

}  // namespace smelt::hlo

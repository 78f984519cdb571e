#include "hlo/file/read.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/file/format.h"
#include "hlo/proto/reader.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/nesting.h"

namespace smelt::hlo {
namespace {

absl::StatusOr<std::unique_ptr<Module>> ReadModule(const std::string& bytes, ModuleForm form, const std::string& path,
                                                   bool verify) {
  if (form == ModuleForm::kText) {
    ParseOptions options;
    options.file_name = path;
    options.verify = verify;
    return ParseModule(bytes, options);
  }
  ProtoOptions options;
  options.file_name = path;
  options.form = form == ModuleForm::kBinaryProto ? ProtoForm::kBinary : ProtoForm::kText;
  options.verify = verify;
  return ReadProto(bytes, options);
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(StrCat(path, ": cannot be opened: ", std::strerror(errno)));
  std::string text;
  size_t used = 0;
  for (;;) {
    text.resize(used + (size_t{1} << 16) + used);
    const size_t count = std::fread(text.data() + used, 1, text.size() - used, file);
    used += count;
    if (count == 0) break;
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) return absl::UnavailableError(StrCat(path, ": cannot be read: ", std::strerror(error)));
  text.resize(used);
  return text;
}

absl::StatusOr<std::unique_ptr<Module>> ReadModuleFile(const std::string& path, bool verify) {
  const FileFormat format = FormatOf(path).value_or(FileFormat{ModuleForm::kText, Compression::kNone});
  SMELT_ASSIGN_OR_RETURN(std::string bytes, ReadTextFile(path));
  if (format.compression != Compression::kNone) {
    absl::StatusOr<std::string> unpacked = Decompress(bytes, format.compression);
    if (!unpacked.ok()) {
      return absl::Status(unpacked.status().code(), StrCat(path, ": ", std::string(unpacked.status().message())));
    }
    bytes = *std::move(unpacked);
  }
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ReadModule(bytes, format.form, path, verify));
  // Even of a module that breaks rules, printing and passes recurse into what it calls.
  if (const std::optional<Problem> problem = verify ? std::nullopt : FindNestingProblem(*module)) {
    return absl::InvalidArgumentError(StrCat(path, ": `", problem->instruction->name(), "` in computation `",
                                             problem->computation->name(), "`: ", problem->message));
  }
  return module;
}

}  // namespace smelt::hlo

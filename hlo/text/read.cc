#include "hlo/text/read.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hlo/status_macros.h"
#include "hlo/str_cat.h"
#include "hlo/text/parser.h"

namespace smelt::hlo {

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(StrCat(path, ": cannot be opened: ", std::strerror(errno)));
  std::string text;
  size_t used = 0;
  for (;;) {
    text.resize(used + (size_t{1} << 20) + used);
    const size_t count = std::fread(text.data() + used, 1, text.size() - used, file);
    used += count;
    if (count == 0) break;
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) return absl::DataLossError(StrCat(path, ": cannot be read: ", std::strerror(error)));
  text.resize(used);
  return text;
}

absl::StatusOr<std::unique_ptr<Module>> ReadModuleFile(const std::string& path, bool verify) {
  struct Refusal {
    std::string_view extension, what;
  };
  static constexpr Refusal kRefusals[] = {{".pb", "binary HLO protos"},
                                          {".pbtxt", "text HLO protos"},
                                          {".gz", "gzip-compressed modules"},
                                          {".zst", "zstd-compressed modules"}};
  for (const Refusal& refusal : kRefusals) {
    if (std::string_view(path).ends_with(refusal.extension)) {
      return absl::UnimplementedError(
          StrCat(path, ": ", refusal.what, " are not read; give the HLO text (.hlo or .txt)"));
    }
  }
  SMELT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  ParseOptions options;
  options.file_name = path;
  options.verify = verify;
  return ParseModule(text, options);
}

}  // namespace smelt::hlo

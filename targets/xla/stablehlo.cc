#include "targets/xla/stablehlo.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "hlo/file/read.h"
#include "hlo/proto/reader.h"
#include "nlohmann/json.hpp"
#include "targets/xla/program.h"

namespace smelt::xla {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtensions[] = {".mlir", ".mlirbc", ".stablehlo", ".jax_export"};
constexpr std::string_view kBytecode = "ML\xefR";

}  // namespace

bool IsStableHlo(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  for (std::string_view known : kExtensions) {
    if (extension == known) return true;
  }
  std::ifstream file(path, std::ios::binary);
  char first[kBytecode.size()] = {};
  return file.read(first, sizeof(first)) && std::string_view(first, sizeof(first)) == kBytecode;
}

absl::StatusOr<std::string> HloOfStableHlo(const std::string& path, const measure::WorkerOptions& worker,
                                           double timeout_seconds) {
  SMELT_ASSIGN_OR_RETURN(const std::string content, hlo::ReadTextFile(path));
  const std::string hash = Hasher().Add(absl::StrCat("stablehlo, ", kXlaVersion)).Add(content).Finish().ToHex();
  const fs::path converted =
      fs::path(worker.cache_folder) / "stablehlo" / hash / absl::StrCat(fs::path(path).stem().string(), ".pb");
  std::error_code error;
  if (fs::is_regular_file(converted, error)) {
    NoteCacheUse(converted.string());
    return converted.string();
  }
  const fs::path file = fs::absolute(path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": the folder that it is in: ", error.message()));
  const absl::StatusOr<nlohmann::json> reply =
      AskNewWorker(worker, {{"do", "convert"}, {"file", file.string()}}, timeout_seconds);
  if (!reply.ok()) {
    return absl::Status(reply.status().code(),
                        absl::StrCat(path, ": converting StableHLO: ", std::string(reply.status().message())));
  }
  if (reply->contains("error"))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no StableHLO: ", reply->value("error", "")));
  std::string bytes;
  if (!absl::Base64Unescape(reply->value("module", ""), &bytes))
    return absl::InternalError("the module that XLA's child sent is no base64");
  SMELT_RETURN_IF_ERROR(hlo::ReadProto(bytes, {.file_name = path}).status());
  fs::create_directories(converted.parent_path(), error);
  SMELT_RETURN_IF_ERROR(WriteFile(converted.string(), bytes));
  return converted.string();
}

}  // namespace smelt::xla

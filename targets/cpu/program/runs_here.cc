#include "targets/cpu/program/runs_here.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "runtime/deploy/cpu_features.h"
#include "targets/cpu/codegen/codegen.h"

namespace smelt::cpu {
namespace {

namespace files = runtime::deploy;

absl::Status Look(const Target& target, bool uses_tiles) {
  SMELT_ASSIGN_OR_RETURN(const std::string architecture, codegen::ArchitectureOf(target));
  if (architecture != files::Architecture()) {
    return absl::FailedPreconditionError(absl::StrCat("code for `", target.name, "` is for ", architecture,
                                                      ", and this machine is ", std::string(files::Architecture()),
                                                      ": `smelt build` makes a module that runs there"));
  }
  std::string host, host_features;
  codegen::DescribeHost(&host, &host_features);
  if (target.name == host && target.features == host_features) return absl::OkStatus();
  const auto names = files::FeatureNames(architecture);
  SMELT_ASSIGN_OR_RETURN(std::vector<std::string> features,
                         codegen::UsedFeatures(target, {names.begin(), names.end()}));
  if (!uses_tiles) std::erase_if(features, [](const std::string& feature) { return feature.starts_with("amx-"); });
  const std::string missing = files::MissingFeatures(features);
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("code for `", target.name, "` may use what this processor lacks (",
                                                    missing,
                                                    "): `smelt build` makes a module that runs on one that has it"));
}

}  // namespace

absl::Status RunsHere(const Target& target, bool uses_tiles) {
  static std::mutex mutex;
  static auto* const seen = new absl::flat_hash_map<std::pair<Hash128, bool>, absl::Status>;
  const std::pair<Hash128, bool> key(target.CodeHash(), uses_tiles);
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (const auto at = seen->find(key); at != seen->end()) return at->second;
  }
  const absl::Status status = Look(target, uses_tiles);
  std::lock_guard<std::mutex> lock(mutex);
  return seen->try_emplace(key, status).first->second;
}

}  // namespace smelt::cpu

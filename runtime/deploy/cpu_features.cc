#include "runtime/deploy/cpu_features.h"

#include <algorithm>
#include <iterator>

namespace smelt::runtime::deploy {
namespace {

#if defined(__x86_64__)
// The compiler takes the names as literals only.
bool Supports(std::string_view name) {
  __builtin_cpu_init();
#define SMELT_FEATURE(llvm, gcc) \
  if (name == llvm) return __builtin_cpu_supports(gcc) != 0;
#include "runtime/deploy/cpu_features.def"
#undef SMELT_FEATURE
  return false;
}
#else
bool Supports(std::string_view) { return false; }
#endif

constexpr std::string_view kNames[] = {
#define SMELT_FEATURE(llvm, gcc) llvm,
#include "runtime/deploy/cpu_features.def"
#undef SMELT_FEATURE
};

}  // namespace

std::span<const std::string_view> FeatureNames() { return kNames; }

std::string_view Architecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "another";
#endif
}

std::string MissingFeatures(const std::vector<std::string>& features, bool (*may_use_tiles)()) {
  std::string missing;
  for (const std::string& feature : features) {
    const bool of_tiles = feature.starts_with("amx-");
    if (!Supports(feature) || (of_tiles && !may_use_tiles())) missing += (missing.empty() ? "" : ", ") + feature;
  }
  return missing;
}

}  // namespace smelt::runtime::deploy

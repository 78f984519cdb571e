#include "runtime/deploy/cpu_features.h"

#include <sys/auxv.h>

#include <algorithm>

namespace smelt::runtime::deploy {
namespace {

#if defined(__x86_64__)
// The compiler takes the names as literals only.
bool Supports(std::string_view name) {
  __builtin_cpu_init();
#define SMELT_X86_FEATURE(llvm, gcc) \
  if (name == llvm) return __builtin_cpu_supports(gcc) != 0;
#include "runtime/deploy/cpu_features.def"
  return false;
}
#elif defined(__aarch64__)
bool Supports(std::string_view name) {
  const unsigned long words[] = {0, ::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)};
#define SMELT_AARCH64_FEATURE(llvm, word, bit) \
  if (name == llvm) return (words[word] >> bit & 1) != 0;
#include "runtime/deploy/cpu_features.def"
  return false;
}
#else
bool Supports(std::string_view) { return false; }
#endif

constexpr std::string_view kX86Names[] = {
#define SMELT_X86_FEATURE(llvm, gcc) llvm,
#include "runtime/deploy/cpu_features.def"
};

constexpr std::string_view kAarch64Names[] = {
#define SMELT_AARCH64_FEATURE(llvm, word, bit) llvm,
#include "runtime/deploy/cpu_features.def"
};

}  // namespace

std::span<const std::string_view> FeatureNames(std::string_view architecture) {
  if (architecture == "x86_64") return kX86Names;
  if (architecture == "aarch64") return kAarch64Names;
  return {};
}

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

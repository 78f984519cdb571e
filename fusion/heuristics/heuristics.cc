#include "fusion/heuristics/heuristics.h"

#include <charconv>

#include "base/str_cat.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

struct Entry {
  std::string_view name;
  Config (*make)(const Space& space, const HeuristicOptions& options);
};

constexpr Entry kHeuristics[] = {
    {"none", [](const Space& space, const HeuristicOptions&) { return NoFusion(space); }},
    {"tvm", [](const Space& space, const HeuristicOptions&) { return TvmFusion(space); }},
    {"xla-cpu", [](const Space& space, const HeuristicOptions&) { return XlaCpuFusion(space); }},
    {"priority", [](const Space& space, const HeuristicOptions& options) { return PriorityFusion(space, options); }},
    {"random", [](const Space& space,
                  const HeuristicOptions& options) { return RandomFusion(space, options.probability, options.seed); }},
};

}  // namespace

std::vector<std::string> HeuristicNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kHeuristics) names.emplace_back(entry.name);
  return names;
}

absl::StatusOr<Config> Heuristic(std::string_view name, const Space& space, const HeuristicOptions& options) {
  HeuristicOptions chosen = options;
  std::string_view stem = name;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos && name.substr(0, colon) == "random") {
    const std::string_view seed = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), chosen.seed);
    if (error != std::errc() || end != seed.data() + seed.size()) {
      return absl::InvalidArgumentError(
          StrCat("fusion `", name, "`: expected a seed (a whole number from 0) after the colon, found `", seed, "`"));
    }
    stem = name.substr(0, colon);
  }
  for (const Entry& entry : kHeuristics) {
    if (entry.name == stem) return entry.make(space, chosen);
  }
  std::string known;
  for (const Entry& entry : kHeuristics) StrAppend(&known, known.empty() ? "" : ", ", entry.name);
  return absl::InvalidArgumentError(StrCat("unknown fusion `", name, "`: expected one of ", known, ", random:SEED"));
}

Config NoFusion(const Space& space) { return Config(space.size()); }

Config RandomFusion(const Space& space, double probability, uint64_t seed) {
  Config config(space.size());
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D;
  for (int64_t d = 0; d < space.size(); ++d) {
    uint64_t x = state += 0x9E3779B97F4A7C15;  // SplitMix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    x ^= x >> 31;
    if (static_cast<double>(x >> 11) * 0x1p-53 < probability) config.Flip(d);
  }
  return Legalize(space, config);
}

}  // namespace smelt::fusion

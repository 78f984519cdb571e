#include "tuner/schedule/candidate_features.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "kernels/loop_features/features.h"
#include "tuner/schedule/side_by_side.h"

namespace smelt::tuner {
namespace {

namespace loops = kernels::loop_features;

// So many are remembered: some hundred bytes to some kilobytes each.
constexpr size_t kMostRemembered = 5000;

loops::Kind KindOf(Representation representation) {
  switch (representation) {
    case Representation::kFlattened:
      return loops::Kind::kFlattened;
    case Representation::kInvariant:
      return loops::Kind::kInvariant;
    default:
      return loops::Kind::kContextRelation;
  }
}

absl::StatusOr<std::vector<float>> LoopFeatures(const ScheduleTask& task, const Config& config, loops::Kind kind) {
  SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule, task.space.ScheduleFor(config));
  return loops::Features(schedule, task.machine, kind);
}

}  // namespace

std::string_view RepresentationName(Representation representation) {
  constexpr std::string_view kNames[] = {"knobs", "flattened", "relation", "invariant"};
  return kNames[static_cast<int>(representation)];
}

FeatureTable CandidateFeatures::Of(absl::Span<const Config> candidates, Representation representation) {
  FeatureTable table;
  table.known.assign(candidates.size(), true);
  if (representation == Representation::kKnobs) {
    for (const Config& config : candidates) {
      const std::vector<float> row = task_.space.KnobFeatures(config);
      table.rows.columns = static_cast<int64_t>(row.size());
      table.rows.Add(row);
    }
    return table;
  }
  const loops::Kind kind = KindOf(representation);
  Memory& memory = memory_[representation];
  if (memory.size() > kMostRemembered) memory.clear();
  std::vector<Hash128> hashes;
  std::vector<size_t> missing;
  for (const Config& config : candidates) hashes.push_back(config.Hash());
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (memory.try_emplace(hashes[i]).second) missing.push_back(i);
  }
  std::vector<std::optional<std::vector<float>>> made(missing.size());
  SideBySide(static_cast<int64_t>(missing.size()), threads_, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      absl::StatusOr<std::vector<float>> features = LoopFeatures(task_, candidates[missing[i]], kind);
      if (features.ok()) made[i] = *std::move(features);
    }
  });
  for (size_t i = 0; i < missing.size(); ++i) memory[hashes[missing[i]]] = std::move(made[i]);
  table.rows.columns = loops::Length(kind);
  const std::vector<float> nothing(static_cast<size_t>(table.rows.columns), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::optional<std::vector<float>>& features = memory.at(hashes[i]);
    table.known[i] = features.has_value();
    table.rows.Add(features ? *features : nothing);
  }
  return table;
}

}  // namespace smelt::tuner

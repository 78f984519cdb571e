// Features of a kernel's candidates, made once for each and by several threads.
//
//   CandidateFeatures features(task, /*threads=*/2);
//   const FeatureTable table = features.Of({task.space.Default()}, Representation::kContextRelation);
//   if (table.known[0]) table.rows[0];
//
// Features of a loop program ask for its schedule and the first passes of lowering, which takes a part of a
// millisecond; the values of knobs take a microsecond. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "gnn/boost/boosted_trees.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

enum class Representation : uint8_t {
  kKnobs,            // the values of the knobs: of one space alone
  kFlattened,        // context features of each loop, in order
  kContextRelation,  // context features against each other: Section 4 of the AutoTVM paper
  kInvariant,        // those that mean the same for every kernel
};
std::string_view RepresentationName(Representation representation);  // knobs, flattened, relation, invariant

struct FeatureTable {
  gnn::Rows rows;           // a row a candidate, NaN where there is no schedule
  std::vector<bool> known;  // whether there is one
};

class CandidateFeatures {
 public:
  // `task` must outlive it.
  CandidateFeatures(const ScheduleTask& task, int threads) : task_(task), threads_(threads) {}

  FeatureTable Of(absl::Span<const Config> candidates, Representation representation);

 private:
  using Memory = absl::flat_hash_map<Hash128, std::optional<std::vector<float>>>;  // absent: there is no schedule

  const ScheduleTask& task_;
  const int threads_;
  std::map<Representation, Memory> memory_;
};

}  // namespace smelt::tuner

#include "hlo/passes/execution_counts.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "hlo/passes/while_trip_count.h"

namespace smelt::hlo {
namespace {

double Times(const hlo::Instruction& caller, size_t called) {
  if (caller.opcode() != hlo::Opcode::kWhile) return 1;
  const std::optional<int64_t> trips = hlo::TripCount(caller);
  // A while's called computations are its body, then its condition, which nobody asks where the count is plain.
  if (trips) return called == 0 ? static_cast<double>(*trips) : 0;
  return called == 0 ? kUnknownTrips : kUnknownTrips + 1;
}

}  // namespace

absl::flat_hash_map<const hlo::Computation*, double> ExecutionCounts(const hlo::Module& module) {
  absl::flat_hash_map<const hlo::Computation*, double> counts;
  std::vector<hlo::Computation*> order = module.ExecutedComputations();  // callees first
  std::reverse(order.begin(), order.end());
  for (const hlo::Computation* computation : order) counts[computation] = 0;
  counts[module.entry()] = 1;
  for (const hlo::Computation* computation : order) {
    const double runs = counts[computation];
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      for (size_t c = 0; c < instruction->called().size(); ++c) {
        // Functions of reduce, sort and the like are not among the counted ones.
        auto called = counts.find(instruction->called(static_cast<int64_t>(c)));
        if (called != counts.end()) called->second += runs * Times(*instruction, c);
      }
    }
  }
  return counts;
}

}  // namespace smelt::hlo

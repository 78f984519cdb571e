#include "kernels/lower/lower.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/lowering.h"

namespace smelt::kernels::lower {
namespace {

// Runs a pass unless one before it failed; dumps on request.
class Pipeline {
 public:
  explicit Pipeline(Lowering& lowering) : lowering_(lowering) {}

  void Run(const char* name, void (*pass)(Lowering&)) {
    if (!lowering_.status.ok()) return;
    const auto start = std::chrono::steady_clock::now();
    pass(lowering_);
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    if (lowering_.options.dump == nullptr) return;
    absl::StrAppend(lowering_.options.dump, "== ", name, ": ", static_cast<int64_t>(elapsed.count()), " us\n",
                    lowering_.status.ok() ? ir::ToString(lowering_.function) : lowering_.status.ToString());
  }

 private:
  Lowering& lowering_;
};

// The pieces of a parallel loop go back to its one variable.
void RestoreParallelVariables(Lowering& lowering) {
  for (ir::Phase& phase : lowering.function.phases) phase.body = ir::Substitute(phase.body, lowering.aliases);
}

}  // namespace

absl::StatusOr<ir::Function> Lower(const schedule::Schedule& schedule, const LowerOptions& options) {
  Lowering lowering{.state = schedule.state(), .options = options};
  Pipeline pipeline(lowering);
  pipeline.Run("bounds", InferBounds);         // every loop gets its extent, every stage its region
  pipeline.Run("nests", BuildLoopNests);       // stages become loops where the schedule puts them
  pipeline.Run("simplify", SimplifyFunction);  // loops of one iteration go, decided guards too
  pipeline.Run("partition", PartitionLoops);   // tails and borders leave the steady part, so that it has no branch
  pipeline.Run("flatten", FlattenStorage);     // after partition: what moves data by dimensions has seen them
  pipeline.Run("predicate", PredicateLoads);   // what conditions remain become masks of loads and stores
  pipeline.Run("vectorize", VectorizeLoops);   // after partition: lanes never straddle a tail
  pipeline.Run("unroll", UnrollLoops);         // after vectorize: indices of local memory become constants
  pipeline.Run("simplify", SimplifyFunction);  // vector masks that always hold go
  pipeline.Run("storage", ReuseStorage);       // what nothing reads goes, short lives share memory
  pipeline.Run("restore", RestoreParallelVariables);  // partition named the pieces of parallel loops for itself
  if (!lowering.status.ok()) return lowering.status;
  return std::move(lowering.function);
}

}  // namespace smelt::kernels::lower

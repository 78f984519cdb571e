#include "kernels/lower/lower.h"

#include "base/status_macros.h"
#include "kernels/lower/bounds.h"
#include "kernels/lower/flatten.h"
#include "kernels/lower/nests.h"
#include "kernels/lower/partition.h"
#include "kernels/lower/predicate.h"
#include "kernels/lower/restore.h"
#include "kernels/lower/simplify.h"
#include "kernels/lower/storage.h"
#include "kernels/lower/unroll.h"
#include "kernels/lower/vectorize.h"

namespace smelt::kernels::lower {
namespace {

// From a schedule to loops.
const Pass kLoops[] = {
    {"simplify", SimplifyFunction, "loops of one iteration go, decided guards too"},
};

const Pass kVector[] = {
    {"partition", PartitionLoops, "tails and borders leave the steady part, so that it has no branch"},
    {"flatten", FlattenStorage, "after partition: what moves data by dimensions has seen them"},
    {"predicate", PredicateLoads, "what conditions remain become masks of loads and stores"},
    {"vectorize", VectorizeLoops, "after partition: lanes never straddle a tail"},
    {"unroll", UnrollLoops, "after vectorize: indices of local memory become constants"},
    {"simplify", SimplifyFunction, "vector masks that always hold go"},
    {"storage", ReuseStorage, "what nothing reads goes, short lives share memory"},
    {"restore", RestoreParallelVariables, "partition named the pieces of parallel loops for itself"},
};

// Every loop gets its extent, every stage its region; then stages become loops where the schedule puts them.
absl::StatusOr<ir::Function> BuildLoops(const schedule::State& state, PassContext& context) {
  SMELT_ASSIGN_OR_RETURN(std::vector<Nest> nests, InferBounds(state, context.simplifier));
  return BuildLoopNests(state, std::move(nests), context.options.name, context.simplifier);
}

absl::StatusOr<ir::Function> ToLoops(const schedule::Schedule& schedule, PassContext& context) {
  SMELT_ASSIGN_OR_RETURN(ir::Function function,
                         RunStep(
                             "nests", [&] { return BuildLoops(schedule.state(), context); }, context));
  return RunPasses(std::move(function), kLoops, context);
}

}  // namespace

Pipeline VectorPipeline() { return kVector; }

absl::StatusOr<ir::Function> LowerToLoops(const schedule::Schedule& schedule, const LowerOptions& options) {
  te::Simplifier simplifier;
  PassContext context{options, simplifier};
  return ToLoops(schedule, context);
}

absl::StatusOr<ir::Function> Lower(const schedule::Schedule& schedule, const LowerOptions& options) {
  te::Simplifier simplifier;
  PassContext context{options, simplifier};
  SMELT_ASSIGN_OR_RETURN(ir::Function function, ToLoops(schedule, context));
  return RunPasses(std::move(function), options.pipeline, context);
}

}  // namespace smelt::kernels::lower

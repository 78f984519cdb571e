#include "kernels/lower/lower.h"

#include "base/status_macros.h"
#include "kernels/lower/auto_unroll.h"
#include "kernels/lower/bounds.h"
#include "kernels/lower/chains.h"
#include "kernels/lower/flatten.h"
#include "kernels/lower/nests.h"
#include "kernels/lower/partition.h"
#include "kernels/lower/pipeline.h"
#include "kernels/lower/predicate.h"
#include "kernels/lower/prefetch.h"
#include "kernels/lower/restore.h"
#include "kernels/lower/simplify.h"
#include "kernels/lower/storage.h"
#include "kernels/lower/storage_align.h"
#include "kernels/lower/streaming.h"
#include "kernels/lower/unroll.h"
#include "kernels/lower/vectorize.h"
#include "kernels/lower/virtual_threads.h"

namespace smelt::kernels::lower {
namespace {

// From a schedule to loops.
const Pass kLoops[] = {
    {"simplify", SimplifyFunction, "loops of one iteration go, decided guards too"},
};

const Pass kVector[] = {
    {"prefetch", PrefetchAhead, "loops are as the schedule has them, so that their next iterations are known"},
    {"virtual threads", InterleaveVirtualThreads, "before pipelines: each of theirs has all threads' statements"},
    {"pipeline", PipelineLoops, "before partition: its beginning and end leave the steady part"},
    {"partition", PartitionLoops, "tails and borders leave the steady part, so that it has no branch"},
    {"align", AlignStorage, "the last that changes dimensions"},
    {"flatten", FlattenStorage, "after partition: what moves data by dimensions has seen them"},
    {"predicate", PredicateLoads, "what conditions remain become masks of loads and stores"},
    {"vectorize", VectorizeLoops, "after partition: lanes never straddle a tail"},
    {"auto unroll", ChooseUnrolledLoops, "just before unroll: what vectors have become counts"},
    {"unroll", UnrollLoops, "after vectorize: indices of local memory become constants"},
    {"simplify", SimplifyFunction, "vector masks that always hold go"},
    {"chains", SplitChains, "after unroll: what one iteration adds to a sum stands side by side"},
    {"streaming", FindStreamingStores, "stores are final, their addresses simple"},
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

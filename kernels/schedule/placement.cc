// Primitives that say where a stage is computed and stored: compute_at, compute_inline, compute_root, set_scope and
// transform_layout.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

// Whether `stage` is computed inside loop `loop` of stage `consumer`: it is that stage itself, or attached there,
// directly or through others.
bool IsInside(const State& state, const Stage& stage, const Stage& consumer, int loop) {
  const Stage* at = &stage;
  for (size_t steps = 0; steps <= state.stages.size(); ++steps) {
    if (at == &consumer) return true;
    if (at->attach != Attach::kAt) return false;
    const Stage& next = state.stages[state.IndexOf(at->attach_stage)];
    if (&next == &consumer) return next.LeafPosition(at->attach_loop) >= next.LeafPosition(loop);
    at = &next;
  }
  return false;
}

}  // namespace

absl::Status AttachStage(State& state, std::string_view name, std::string_view consumer_name,
                         std::string_view loop_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  SMELT_ASSIGN_OR_RETURN(Stage * consumer, state.Find(consumer_name));
  if (stage->placeholder) return Illegal("compute_at", name, "it is an input of the kernel");
  if (stage->output) return Illegal("compute_at", name, "it is a result of the kernel and is computed at the root");
  if (stage->attach == Attach::kInline) return Illegal("compute_at", name, "it is inlined already");
  SMELT_RETURN_IF_ERROR(CheckMayMove(state, *stage, "compute_at"));
  if (consumer->attach == Attach::kInline || consumer->placeholder)
    return Illegal("compute_at", name, absl::StrCat("stage `", consumer->name, "` has no loops"));
  const int leaf = consumer->FindLeaf(loop_name);
  if (leaf < 0) {
    return Illegal("compute_at", name,
                   absl::StrCat("stage `", consumer->name, "` has no loop `", std::string(loop_name), "` (any more)"));
  }
  if (consumer->tensor_intrinsic != nullptr &&
      consumer->LeafPosition(leaf) >= consumer->LeafPosition(consumer->tensorized))
    return Illegal("compute_at", name,
                   absl::StrCat("loop `", std::string(loop_name), "` of stage `", consumer->name,
                                "` lies within the instruction `", consumer->tensor_intrinsic->name, "`"));
  const ir::ForKind kind = consumer->loops[leaf].kind;
  if (kind == ir::ForKind::kVectorized)
    return Illegal("compute_at", name,
                   absl::StrCat("loop `", std::string(loop_name), "` of stage `", consumer->name,
                                "` is vectorized and has no inside"));
  if (!consumer->loops[leaf].pipeline.empty())
    return Illegal("compute_at", name,
                   absl::StrCat("loop `", std::string(loop_name), "` of stage `", consumer->name,
                                "` is pipelined; place what it holds before that"));
  const int index = state.IndexOf(name);
  if (state.IndexOf(consumer_name) <= index)
    return Illegal("compute_at", name, absl::StrCat("stage `", consumer->name, "` does not consume it"));
  for (const Loop& loop : stage->loops) {
    if (loop.kind == ir::ForKind::kParallel || loop.kind == ir::ForKind::kBlock)
      return Illegal(
          "compute_at", name,
          absl::StrCat("its loop `", loop.name, "` is ",
                       loop.kind == ir::ForKind::kParallel ? "parallel" : "bound to blocks", ", for root stages only"));
  }
  for (int reader : state.Readers(index)) {
    if (!IsInside(state, state.stages[reader], *consumer, leaf)) {
      return Illegal(
          "compute_at", name,
          absl::StrCat("stage `", state.stages[reader].name, "` reads it outside of loop `", std::string(loop_name),
                       "` of stage `", consumer->name, "`; place the consumers first"));
    }
  }
  stage->attach = Attach::kAt;
  stage->attach_stage = consumer->name;
  stage->attach_loop = leaf;
  return absl::OkStatus();
}

absl::Status InlineStage(State& state, std::string_view name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder) return Illegal("compute_inline", name, "it is an input of the kernel");
  if (stage->output) return Illegal("compute_inline", name, "it is a result of the kernel and must be stored");
  if (!stage->reduce_axes.empty()) return Illegal("compute_inline", name, "it is a reduction");
  if (stage->attach == Attach::kInline) return Illegal("compute_inline", name, "it is inlined already");
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "compute_inline"));
  SMELT_RETURN_IF_ERROR(CheckMayMove(state, *stage, "compute_inline"));
  if (state.HasAttached(name)) return Illegal("compute_inline", name, "another stage is computed at one of its loops");
  stage->attach = Attach::kInline;
  stage->attach_stage.clear();
  stage->attach_loop = -1;
  return absl::OkStatus();
}

absl::Status RootStage(State& state, std::string_view name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder) return Illegal("compute_root", name, "it is an input of the kernel");
  if (stage->attach == Attach::kInline) return Illegal("compute_root", name, "it is inlined already");
  SMELT_RETURN_IF_ERROR(CheckMayMove(state, *stage, "compute_root"));
  stage->attach = Attach::kRoot;
  stage->attach_stage.clear();
  stage->attach_loop = -1;
  return absl::OkStatus();
}

absl::Status CheckScratch(const State& state, std::string_view primitive, std::string_view stage,
                          const ir::Scope& scope) {
  if (scope == state.scopes.argument)
    return Illegal(primitive, stage, "scratch cannot become an argument of the kernel");
  if (!state.scopes.Contains(scope))
    return Illegal(primitive, stage,
                   absl::StrCat("no scope `", std::string(scope.name), "` here; there are: ", state.scopes.Names()));
  return absl::OkStatus();
}

absl::Status ScopeStage(State& state, std::string_view name, const ir::Scope& scope) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder || stage->output)
    return Illegal("set_scope", name, "it is an argument of the kernel, whose memory is the caller's");
  SMELT_RETURN_IF_ERROR(CheckScratch(state, "set_scope", name, scope));
  stage->scope = scope;
  return absl::OkStatus();
}

absl::Status LayoutStage(State& state, std::string_view name, const std::vector<std::pair<int, int64_t>>& layout) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder || stage->output)
    return Illegal("transform_layout", name, "it is an argument of the kernel, which is row-major; cache it first");
  if (!stage->alignments.empty())
    return Illegal("transform_layout", name, "the strides of its axes are aligned; lay it out before storage_align");
  const int rank = stage->AxisCount();
  // What was seen of each axis: 0 nothing, 1 the whole, 2 the quotient, 3 quotient and remainder.
  std::vector<int> seen(rank, 0);
  for (const auto& [axis, block] : layout) {
    const std::string entry = absl::StrCat("entry ", axis, ":", block);
    if (axis < 0 || axis >= rank) return Illegal("transform_layout", name, absl::StrCat(entry, " names no axis"));
    if (block < 0 || block > (int64_t{1} << 30))
      return Illegal("transform_layout", name, absl::StrCat(entry, " has no usable block"));
    const int next = block == 0 ? 3 : block == 1 ? 1 : 2;
    if (next == 3 ? seen[axis] != 2 : seen[axis] != 0) {
      return Illegal("transform_layout", name,
                     absl::StrCat(entry,
                                  " does not follow: an axis stands once (block 1), or first with its block and "
                                  "later, for the remainder, with 0"));
    }
    seen[axis] = next;
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (seen[axis] != 1 && seen[axis] != 3)
      return Illegal("transform_layout", name, absl::StrCat("axis ", axis, " is missing, or its remainder is"));
  }
  stage->layout = layout;
  return absl::OkStatus();
}

}  // namespace smelt::kernels::schedule

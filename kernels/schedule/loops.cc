// Primitives that shape the loops of one stage: split, fuse, reorder and annotations.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

constexpr size_t kMostLeaves = 64;  // of one stage: a nest deeper than this is a mistake
constexpr int64_t kLargestFactor = int64_t{1} << 40;

std::string LeafNames(const Stage& stage) {
  std::string names;
  for (int leaf : stage.leaves) absl::StrAppend(&names, names.empty() ? "" : " ", stage.loops[leaf].name);
  return names;
}

// A leaf that may still change its shape: not annotated and nothing computed at it.
absl::StatusOr<int> FindFree(const State& state, const Stage& stage, std::string_view primitive,
                             std::string_view loop) {
  SMELT_RETURN_IF_ERROR(CheckLoops(stage, primitive));
  const int leaf = stage.FindLeaf(loop);
  if (leaf < 0) {
    return Illegal(primitive, stage.name,
                   absl::StrCat("no loop `", std::string(loop), "`; its loops are: ", LeafNames(stage)));
  }
  if (stage.loops[leaf].kind != ir::ForKind::kSerial) {
    return Illegal(primitive, stage.name,
                   absl::StrCat("loop `", std::string(loop), "` is annotated already; change its shape before that"));
  }
  if (std::string attached = state.AttachedAt(stage.name, leaf); !attached.empty()) {
    return Illegal(primitive, stage.name,
                   absl::StrCat("stage `", attached, "` is computed at loop `", std::string(loop),
                                "`; change its shape before compute_at"));
  }
  if (stage.loops[leaf].IsAnnotated()) {
    return Illegal(primitive, stage.name,
                   absl::StrCat("loop `", std::string(loop), "` has a pragma or a prefetch; change its shape before"));
  }
  return leaf;
}

absl::StatusOr<Stage*> FindLooped(State& state, std::string_view primitive, std::string_view name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  if (stage->placeholder) return Illegal(primitive, name, "it is an input of the kernel and has no loops");
  if (stage->attach == Attach::kInline) return Illegal(primitive, name, "it is inlined and has no loops");
  return stage;
}

absl::Status CheckTail(const Stage& stage, const Loop& loop, TailStrategy tail) {
  if (tail == TailStrategy::kRoundUp) {
    if (stage.output)
      return Illegal("split", stage.name,
                     "round_up computes beyond the extent, and a result of the kernel has no room");
    if (loop.reduce)
      return Illegal("split", stage.name,
                     absl::StrCat("round_up of the reduce loop `", loop.name, "` would add to it"));
  }
  if (tail == TailStrategy::kShiftInwards && !stage.reduce_axes.empty())
    return Illegal("split", stage.name, "shift_inwards computes elements twice, which a reduction must not");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::pair<std::string, std::string>> SplitLoop(State& state, std::string_view name,
                                                              std::string_view loop_name, RelationKind kind,
                                                              int64_t factor, TailStrategy tail) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, FindLooped(state, "split", name));
  SMELT_ASSIGN_OR_RETURN(const int parent, FindFree(state, *stage, "split", loop_name));
  const Loop loop = stage->loops[parent];
  if (factor < 1 || factor > kLargestFactor)
    return Illegal("split", name, absl::StrCat("factor ", factor, " of loop `", loop.name, "` must be at least 1"));
  if (stage->leaves.size() >= kMostLeaves)
    return Illegal("split", name, absl::StrCat("it has ", kMostLeaves, " loops already"));
  SMELT_RETURN_IF_ERROR(CheckTail(*stage, loop, tail));

  const int64_t other = CeilDiv(loop.extent, factor);
  const bool by_factor = kind == RelationKind::kSplit;
  const int outer = static_cast<int>(stage->loops.size()), inner = outer + 1;
  stage->loops.push_back({.name = loop.name + ".outer", .extent = by_factor ? other : factor, .reduce = loop.reduce});
  stage->loops.push_back({.name = loop.name + ".inner", .extent = by_factor ? factor : other, .reduce = loop.reduce});
  stage->relations.push_back(
      {.kind = kind, .parent = parent, .outer = outer, .inner = inner, .factor = factor, .tail = tail});
  const int position = stage->LeafPosition(parent);
  stage->leaves[position] = outer;
  stage->leaves.insert(stage->leaves.begin() + position + 1, inner);
  return std::pair<std::string, std::string>(stage->loops[outer].name, stage->loops[inner].name);
}

absl::StatusOr<std::string> FuseLoops(State& state, std::string_view name, std::string_view outer_name,
                                      std::string_view inner_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, FindLooped(state, "fuse", name));
  SMELT_ASSIGN_OR_RETURN(const int outer, FindFree(state, *stage, "fuse", outer_name));
  SMELT_ASSIGN_OR_RETURN(const int inner, FindFree(state, *stage, "fuse", inner_name));
  const int position = stage->LeafPosition(outer);
  if (stage->LeafPosition(inner) != position + 1) {
    return Illegal("fuse", name,
                   absl::StrCat("loop `", std::string(inner_name), "` is not just inside `", std::string(outer_name),
                                "`; the order is: ", LeafNames(*stage)));
  }
  const Loop a = stage->loops[outer], b = stage->loops[inner];
  if (a.reduce != b.reduce)
    return Illegal("fuse", name, absl::StrCat("of `", a.name, "` and `", b.name, "` only one is a reduce loop"));
  const int fused = static_cast<int>(stage->loops.size());
  stage->loops.push_back(
      {.name = absl::StrCat(a.name, ".", b.name, ".fused"), .extent = a.extent * b.extent, .reduce = a.reduce});
  stage->relations.push_back({.kind = RelationKind::kFuse, .parent = fused, .outer = outer, .inner = inner});
  stage->leaves[position] = fused;
  stage->leaves.erase(stage->leaves.begin() + position + 1);
  return stage->loops[fused].name;
}

absl::Status ReorderLoops(State& state, std::string_view name, const std::vector<std::string>& names) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, FindLooped(state, "reorder", name));
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "reorder"));
  std::vector<int> wanted, slots;
  absl::flat_hash_set<int> seen;
  for (const std::string& loop : names) {
    const int leaf = stage->FindLeaf(loop);
    if (leaf < 0)
      return Illegal("reorder", name, absl::StrCat("no loop `", loop, "`; its loops are: ", LeafNames(*stage)));
    if (!seen.insert(leaf).second) return Illegal("reorder", name, absl::StrCat("loop `", loop, "` is named twice"));
    wanted.push_back(leaf);
    slots.push_back(stage->LeafPosition(leaf));
  }
  std::sort(slots.begin(), slots.end());
  std::vector<int> leaves = stage->leaves;
  for (size_t i = 0; i < slots.size(); ++i) leaves[slots[i]] = wanted[i];
  for (size_t i = 1; i < leaves.size(); ++i) {
    const ir::ForKind kind = stage->loops[leaves[i]].kind, before = stage->loops[leaves[i - 1]].kind;
    if (kind == ir::ForKind::kParallel || (kind == ir::ForKind::kBlock && before != kind))
      return Illegal(
          "reorder", name,
          absl::StrCat("loop `", stage->loops[leaves[i]].name, "` is ",
                       kind == ir::ForKind::kParallel ? "parallel" : "bound to blocks", " and must stay outermost"));
  }
  stage->leaves = std::move(leaves);
  return absl::OkStatus();
}

absl::Status AnnotateLoop(State& state, std::string_view name, std::string_view loop_name, ir::ForKind kind) {
  constexpr const char* kPrimitives[] = {"serial", "parallel", "vectorize", "unroll", "bind", "bind", "bind"};
  const char* primitive = kPrimitives[static_cast<int>(kind)];
  SMELT_ASSIGN_OR_RETURN(Stage * stage, FindLooped(state, primitive, name));
  const int leaf = stage->FindLeaf(loop_name);
  if (leaf < 0) {
    return Illegal(primitive, name,
                   absl::StrCat("no loop `", std::string(loop_name), "`; its loops are: ", LeafNames(*stage)));
  }
  Loop& loop = stage->loops[leaf];
  if (stage->tensor_intrinsic != nullptr && stage->LeafPosition(leaf) >= stage->LeafPosition(stage->tensorized))
    return CheckLoops(*stage, primitive);
  if (loop.kind != ir::ForKind::kSerial && loop.kind != kind)
    return Illegal(primitive, name, absl::StrCat("loop `", loop.name, "` is annotated already"));
  if (kind != ir::ForKind::kUnrolled) {
    if (!loop.pipeline.empty())
      return Illegal(primitive, name,
                     absl::StrCat("loop `", loop.name, "` is pipelined, its iterations have an order"));
    for (const Stage* attached : state.StagesAt(name, leaf)) {
      if (attached->double_buffered)
        return Illegal(primitive, name,
                       absl::StrCat("stage `", attached->name, "` is double-buffered at loop `", loop.name,
                                    "`, whose iterations have an order"));
    }
  }
  if (kind == ir::ForKind::kVectorized) {
    if (!loop.prefetches.empty())
      return Illegal(primitive, name, absl::StrCat("loop `", loop.name, "` prefetches; lanes have no next iteration"));
    if (std::string attached = state.AttachedAt(name, leaf); !attached.empty())
      return Illegal(primitive, name,
                     absl::StrCat("stage `", attached, "` is computed at loop `", loop.name, "`, inside of a vector"));
    if (loop.reduce)
      return Illegal(primitive, name,
                     absl::StrCat("loop `", loop.name,
                                  "` is a reduce loop; use rfactor and vectorize the partial "
                                  "results"));
    for (int other : stage->leaves) {
      if (other != leaf && stage->loops[other].kind == ir::ForKind::kVectorized)
        return Illegal(primitive, name,
                       absl::StrCat("loop `", stage->loops[other].name, "` of the same nest is vectorized already"));
    }
    constexpr int64_t kMostLanes = 256;
    if (loop.extent > kMostLanes)
      return Illegal(primitive, name,
                     absl::StrCat("loop `", loop.name, "` has ", loop.extent, " iterations; split it to at most ",
                                  kMostLanes, " first"));
  }
  if (kind >= ir::ForKind::kBlock && loop.reduce)
    return Illegal(primitive, name, absl::StrCat("loop `", loop.name, "` is a reduce loop; rfactor it first"));
  if (kind == ir::ForKind::kBlock) {
    if (stage->attach != Attach::kRoot)
      return Illegal(primitive, name, "it is computed inside another stage; only root stages have blocks");
    for (int i = 0; i < stage->LeafPosition(leaf); ++i) {
      if (stage->loops[stage->leaves[i]].kind != ir::ForKind::kBlock)
        return Illegal(primitive, name,
                       absl::StrCat("loop `", stage->loops[stage->leaves[i]].name, "` outside of block loop `",
                                    loop.name, "` is no block loop: ", LeafNames(*stage)));
    }
  }
  if (kind == ir::ForKind::kParallel) {
    if (loop.reduce) return Illegal(primitive, name, absl::StrCat("loop `", loop.name, "` is a reduce loop"));
    if (stage->attach != Attach::kRoot)
      return Illegal(primitive, name, "it is computed inside another stage; only root stages run in parallel");
    if (stage->leaves[0] != leaf)
      return Illegal(primitive, name,
                     absl::StrCat("loop `", loop.name, "` is not the outermost one: ", LeafNames(*stage)));
  }
  loop.kind = kind;
  return absl::OkStatus();
}

}  // namespace smelt::kernels::schedule

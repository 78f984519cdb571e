// rfactor: a reduction in two steps, partial results first.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/schedule/state.h"

namespace smelt::kernels::schedule {
namespace {

using te::Expr;
using te::IterVar;
using te::ReduceAxis;

// The value of every reduce loop of `stage` in terms of its leaves, and the conditions under which a point exists.
struct LoopValues {
  std::vector<Expr> values;  // by loop number; null for loops over spatial axes
  Expr condition = te::Bool(true);
};

LoopValues ReduceLoopValues(const Stage& stage, const std::vector<Expr>& leaf_values) {
  LoopValues result;
  result.values = leaf_values;
  for (auto it = stage.relations.rbegin(); it != stage.relations.rend(); ++it) {
    if (!stage.loops[it->parent].reduce) continue;
    std::vector<Expr>& v = result.values;
    if (it->kind == RelationKind::kFuse) {
      const int64_t inner = stage.loops[it->inner].extent;
      v[it->outer] = FloorDiv(v[it->parent], inner);
      v[it->inner] = FloorMod(v[it->parent], inner);
      continue;
    }
    const int64_t inner = stage.loops[it->inner].extent, extent = stage.loops[it->parent].extent;
    v[it->parent] = v[it->outer] * inner + v[it->inner];
    if (inner * stage.loops[it->outer].extent != extent)
      result.condition = And(result.condition, v[it->parent] < Expr(extent));
  }
  return result;
}

}  // namespace

absl::StatusOr<std::string> FactorReduction(State& state, std::string_view name, std::string_view loop_name) {
  SMELT_ASSIGN_OR_RETURN(Stage * stage, state.Find(name));
  SMELT_RETURN_IF_ERROR(CheckLoops(*stage, "rfactor"));
  const int factored = stage->FindLeaf(loop_name);
  if (factored < 0) return Illegal("rfactor", name, absl::StrCat("no loop `", std::string(loop_name), "`"));
  const Loop loop = stage->loops[factored];
  if (!loop.reduce) return Illegal("rfactor", name, absl::StrCat("loop `", loop.name, "` is not a reduce loop"));
  if (loop.kind != ir::ForKind::kSerial)
    return Illegal("rfactor", name, absl::StrCat("loop `", loop.name, "` is annotated already"));
  const std::shared_ptr<const te::Combiner> combiner = stage->bodies[0]->combiner;
  if (combiner->identity.size() != combiner->results.size())
    return Illegal("rfactor", name, "its combiner has no known identity");
  for (int leaf : stage->leaves) {
    if (!stage->loops[leaf].reduce) continue;
    if (stage->loops[leaf].IsAnnotated())
      return Illegal("rfactor", name,
                     absl::StrCat("its loop `", stage->loops[leaf].name, "` has a pragma or a prefetch; do it before"));
    if (!state.AttachedAt(stage->name, leaf).empty())
      return Illegal("rfactor", name, absl::StrCat("a stage is computed at its loop `", stage->loops[leaf].name, "`"));
    if (loop.extent < 1) return Illegal("rfactor", name, "its reduce loops are empty");
  }

  // The partial stage: axes (factored loop, spatial axes), reduce axes: the other reduce leaves.
  ResolveInlined(state, stage);
  std::vector<Expr> leaf_values(stage->loops.size());
  std::vector<ReduceAxis> partial_axes;
  for (int leaf : stage->leaves) {
    if (!stage->loops[leaf].reduce || leaf == factored) continue;
    partial_axes.push_back(ReduceAxis(stage->loops[leaf].extent, absl::StrCat("r", partial_axes.size())));
    leaf_values[leaf] = partial_axes.back();
  }
  std::vector<int64_t> partial_shape{loop.extent};
  partial_shape.insert(partial_shape.end(), stage->shape.begin(), stage->shape.end());
  const size_t outputs = stage->bodies.size();
  const te::OperationRef partial = te::ComputeMany(
      absl::StrCat(stage->name, ".rf"), partial_shape,
      [&](te::Indices i) {
        leaf_values[factored] = i[0];
        const LoopValues values = ReduceLoopValues(*stage, leaf_values);
        std::vector<std::pair<Expr, Expr>> replacements;
        for (size_t d = 0; d < stage->axes.size(); ++d) replacements.emplace_back(stage->axes[d].var, i[d + 1]);
        for (size_t r = 0; r < stage->reduce_axes.size(); ++r)
          replacements.emplace_back(stage->reduce_axes[r].var, values.values[stage->axes.size() + r]);
        std::vector<Expr> sources;
        for (size_t output = 0; output < outputs; ++output) {
          sources.push_back(te::If(values.condition, te::Substitute(stage->bodies[0]->operands[output], replacements),
                                   combiner->identity[output]));
        }
        return partial_axes.empty() ? sources : te::ReduceMany(combiner, sources, partial_axes, combiner->identity);
      },
      "rfactor");

  // The stage itself now reduces the partial results over one loop in the place of the factored one.
  const ReduceAxis axis(loop.extent, "r0");
  std::vector<Expr> indices{axis};
  for (const IterVar& spatial : stage->axes) indices.push_back(spatial.var);
  std::vector<Expr> sources;
  for (size_t output = 0; output < outputs; ++output)
    sources.push_back(te::Tensor{partial, static_cast<int>(output)}(indices));
  stage->bodies = te::ReduceMany(combiner, sources, {axis}, std::vector<Expr>(stage->bodies[0]->init));
  stage->reduce_axes = {{axis, loop.extent}};

  // Renumber the loops: spatial ones keep what was done to them.
  std::vector<int> number(stage->loops.size(), -1);
  std::vector<Loop> loops;
  const int first_reduce = stage->AxisCount();
  for (int i = 0; i < static_cast<int>(stage->loops.size()); ++i) {
    if (i == first_reduce) loops.push_back({.name = "r0", .extent = loop.extent, .reduce = true});
    if (stage->loops[i].reduce) continue;
    number[i] = static_cast<int>(loops.size());
    loops.push_back(stage->loops[i]);
  }
  number[factored] = first_reduce;
  std::vector<int> leaves;
  for (int leaf : stage->leaves) {
    if (number[leaf] >= 0) leaves.push_back(number[leaf]);
  }
  std::vector<Relation> relations;
  for (Relation relation : stage->relations) {
    if (stage->loops[relation.parent].reduce) continue;
    relation.parent = number[relation.parent];
    relation.outer = number[relation.outer];
    relation.inner = number[relation.inner];
    relations.push_back(relation);
  }
  for (Stage& other : state.stages) {
    if (other.attach == Attach::kAt && other.attach_stage == stage->name) other.attach_loop = number[other.attach_loop];
  }
  stage->loops = std::move(loops);
  stage->leaves = std::move(leaves);
  stage->relations = std::move(relations);
  return state.Insert(state.IndexOf(name), StageOf(*partial, partial, state.scopes)).name;
}

}  // namespace smelt::kernels::schedule

#include "kernels/lower/bounds.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/lower/reads_ahead.h"
#include "kernels/lower/region.h"

namespace smelt::kernels::lower {
namespace {

using schedule::Attach;
using schedule::Relation;
using schedule::RelationKind;
using schedule::Stage;
using schedule::TailStrategy;
using te::ExprKind;
using te::Interval;

class Inference {
 public:
  Inference(const schedule::State& state, te::Simplifier& simplifier) : state_(state), simplifier_(simplifier) {}

  absl::StatusOr<std::vector<Nest>> Run() {
    nests_.resize(state_.stages.size());
    for (int s = static_cast<int>(state_.stages.size()) - 1; s >= 0; --s) {
      const Stage& stage = state_.stages[s];
      if (stage.placeholder || stage.attach == Attach::kInline) continue;
      if (!stage.output && readers_[stage.identity.get()].empty()) continue;  // nobody needs it
      SMELT_RETURN_IF_ERROR(InferStage(s));
    }
    return std::move(nests_);
  }

 private:
  absl::Status InferStage(int s) {
    const Stage& stage = state_.stages[s];
    Nest& nest = nests_[s];
    nest.live = true;
    SMELT_RETURN_IF_ERROR(FindEnclosing(stage, &nest));
    FindRegion(stage, &nest);
    MakeLoops(stage, &nest);
    MakeBodies(s, &nest);
    return absl::OkStatus();
  }

  absl::Status FindEnclosing(const Stage& stage, Nest* nest) {
    if (stage.attach == Attach::kRoot) {
      if (stage.scope.rank != te::ScopeRank::kCall)
        return absl::InvalidArgumentError(
            absl::StrCat("stage `", stage.name, "` has scope ", std::string(stage.scope.name),
                         " and is computed at the root, where such memory does not last: use compute_at"));
      for (size_t i = 1; i < stage.leaves.size(); ++i) {
        if (stage.loops[stage.leaves[i]].kind == ir::ForKind::kParallel)
          return absl::InvalidArgumentError(absl::StrCat("stage `", stage.name, "`: loop `",
                                                         stage.loops[stage.leaves[i]].name,
                                                         "` is parallel and not outermost"));
      }
    } else {
      const int c = state_.IndexOf(stage.attach_stage);
      Check(c >= 0, "stage computed at an unknown stage");
      const Stage& consumer = state_.stages[c];
      const Nest& outer = nests_[c];
      const int position = consumer.LeafPosition(stage.attach_loop);
      if (position < 0 || !outer.live)
        return absl::InvalidArgumentError(absl::StrCat("stage `", stage.name, "` is computed at a loop of stage `",
                                                       consumer.name, "` that no longer exists"));
      nest->enclosing = outer.enclosing;
      for (int i = 0; i <= position; ++i) nest->enclosing.push_back(outer.loops[i].var);
      for (const Loop_& loop : stage.loops) {
        if (loop.kind == ir::ForKind::kParallel)
          return absl::InvalidArgumentError(
              absl::StrCat("stage `", stage.name, "`: loop `", loop.name, "` is parallel inside another stage"));
      }
    }
    // Readers must lie inside: their enclosing loops start with this nest's.
    constexpr size_t kDeepestNest = 600;
    if (nest->enclosing.size() > kDeepestNest)
      return absl::InvalidArgumentError(
          absl::StrCat("stage `", stage.name, "` is nested in more than ", kDeepestNest, " loops"));
    for (const Reader& reader : readers_[stage.identity.get()]) {
      const Nest& other = nests_[reader.stage];
      const std::vector<Expr> around = LoopsAround(reader);
      bool inside = around.size() >= nest->enclosing.size();
      for (size_t i = 0; inside && i < nest->enclosing.size(); ++i) inside = around[i].Same(nest->enclosing[i]);
      if (!inside) {
        return absl::InvalidArgumentError(absl::StrCat(
            "stage `", stage.name, "` is computed at a loop of stage `", stage.attach_stage, "`, but stage `",
            state_.stages[reader.stage].name, "` reads it outside of that loop",
            reader.read.conditional || other.init.empty() ? "" : " (or in the initial value of its reduction)"));
      }
    }
    return absl::OkStatus();
  }

  void FindRegion(const Stage& stage, Nest* nest) {
    const size_t rank = stage.shape.size();
    nest->base.assign(rank, Expr(0));
    nest->extents = stage.shape;
    nest->room = stage.shape;
    if (stage.output) return;
    absl::flat_hash_set<const te::ExprNode*> fixed;
    for (const Expr& var : nest->enclosing) fixed.insert(var.get());
    RegionAnalysis analysis(simplifier_, [&](const Expr& var) { return fixed.contains(var.get()); });
    const std::vector<Reader>& readers = readers_[stage.identity.get()];
    for (size_t d = 0; d < rank; ++d) {
      Region region;
      bool known = true, first = true;
      int64_t reach = 0;  // beyond the last element that an unconditional read needs
      for (const Reader& reader : readers) {
        Region read;
        if (!analysis.Of(reader.read.indices[d], &read)) {
          known = false;
          break;
        }
        if (!reader.read.conditional) {
          const Interval range = simplifier_.Bounds(simplifier_.Simplify(reader.read.indices[d]));
          if (range.IsFinite()) reach = std::max(reach, range.hi + 1);
        }
        if (first) {
          region = read;
        } else if (Region joined; analysis.Join(region, read, &joined)) {
          region = joined;
        } else {
          known = false;
          break;
        }
        first = false;
      }
      const int64_t size = stage.shape[d];
      // Reads beyond the shape come from loops that overshoot: a little room saves their masks.
      const int64_t most = size + std::max<int64_t>(size / 4, 256);
      if (known && region.width + 1 < size) {
        nest->base[d] = region.base;
        nest->extents[d] = nest->room[d] = region.width + 1;
        const Interval base = simplifier_.Bounds(region.base);
        if (!base.IsPoint()) continue;
        // A constant region need not reach outside of the shape.
        const int64_t lo = std::clamp<int64_t>(base.lo, 0, size - 1);
        const int64_t hi = std::clamp<int64_t>(base.lo + region.width, lo, size - 1);
        nest->base[d] = Expr(lo);
        nest->extents[d] = hi - lo + 1;
        nest->room[d] = std::max(nest->extents[d], std::min(base.lo + region.width + 1, most) - lo);
        continue;
      }
      if (known && reach > size && reach <= most) nest->room[d] = reach;
    }
  }

  // Whether overshooting this loop only goes beyond the end of its axis.
  static bool ExtendsEnd(const Stage& stage, const std::vector<int64_t>& extents, int loop) {
    for (size_t steps = 0; steps <= stage.relations.size(); ++steps) {
      const Relation* made = nullptr;
      bool outer = false;
      for (const Relation& relation : stage.relations) {
        if (relation.kind == RelationKind::kFuse ? relation.parent == loop
                                                 : relation.outer == loop || relation.inner == loop) {
          made = &relation;
          outer = relation.outer == loop;
        }
      }
      if (made == nullptr) return true;
      if (made->kind == RelationKind::kFuse) return false;
      if (!outer && extents[made->outer] > 1) return false;
      loop = made->parent;
    }
    return false;
  }

  void MakeLoops(const Stage& stage, Nest* nest) {
    std::vector<int64_t> extents(stage.loops.size(), 0);
    const int rank = stage.AxisCount();
    for (int d = 0; d < rank; ++d) extents[d] = nest->extents[d];
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) extents[rank + r] = stage.reduce_axes[r].extent;
    std::vector<bool> rounds(stage.relations.size(), false);
    for (size_t i = 0; i < stage.relations.size(); ++i) {
      const Relation& relation = stage.relations[i];
      if (relation.kind == RelationKind::kFuse) {
        extents[relation.parent] = extents[relation.outer] * extents[relation.inner];
        continue;
      }
      const int64_t parent = extents[relation.parent];
      const bool may_round =
          relation.tail == TailStrategy::kRoundUp || (relation.tail == TailStrategy::kGuard && stage.scope.overshoots &&
                                                      !stage.output && !stage.loops[relation.parent].reduce);
      const bool round_up = may_round && ExtendsEnd(stage, extents, relation.parent);
      int64_t inner;
      if (relation.kind == RelationKind::kSplit) {
        inner = relation.tail == TailStrategy::kRoundUp && round_up
                    ? relation.factor
                    : std::max<int64_t>(1, std::min(relation.factor, parent));
      } else {
        inner = std::max<int64_t>(1, CeilDiv(parent, std::max<int64_t>(1, std::min(relation.factor, parent))));
      }
      extents[relation.inner] = inner;
      extents[relation.outer] = CeilDiv(parent, inner);
      rounds[i] = round_up;
    }
    const bool attached = stage.attach == Attach::kAt;
    values_.assign(stage.loops.size(), Expr());
    for (int leaf : stage.leaves) {
      NestLoop loop;
      loop.var = te::Var(attached ? absl::StrCat(stage.name, ".", stage.loops[leaf].name) : stage.loops[leaf].name);
      loop.extent = extents[leaf];
      loop.kind = stage.loops[leaf].kind;
      loop.reduce = stage.loops[leaf].reduce;
      simplifier_.Bind(loop.var, {0, std::max<int64_t>(0, loop.extent - 1)});
      values_[leaf] = loop.var;
      nest->loops.push_back(std::move(loop));
    }
    // Back from the leaves to the axes.
    for (size_t i = stage.relations.size(); i-- > 0;) {
      const Relation& relation = stage.relations[i];
      const int64_t inner = std::max<int64_t>(1, extents[relation.inner]);
      if (relation.kind == RelationKind::kFuse) {
        values_[relation.outer] = simplifier_.Simplify(FloorDiv(values_[relation.parent], inner));
        values_[relation.inner] = simplifier_.Simplify(FloorMod(values_[relation.parent], inner));
        continue;
      }
      const int64_t parent = extents[relation.parent];
      const Expr start = values_[relation.outer] * Expr(inner);
      const bool tail = inner * extents[relation.outer] > parent;
      if (tail && relation.tail == TailStrategy::kShiftInwards && inner <= parent) {
        values_[relation.parent] = simplifier_.Simplify(Min(start, Expr(parent - inner)) + values_[relation.inner]);
        continue;
      }
      values_[relation.parent] = simplifier_.Simplify(start + values_[relation.inner]);
      if (tail && !rounds[i])
        AddGuard(nest, values_[relation.parent] < Expr(parent), relation.tail == TailStrategy::kPredicate);
    }
    // Rows of scratch hold what overshooting loops write.
    Expr soft = te::Bool(true);
    for (int d = 0; d < rank; ++d) {
      const Interval local = simplifier_.Bounds(values_[d]);
      const bool overshoots =
          !stage.output && local.hi >= nest->extents[d] && !GuardedBelow(*nest, values_[d], nest->extents[d]);
      if (overshoots) nest->room[d] = std::max(nest->room[d], local.hi + 1);
      const Expr index = simplifier_.Simplify(nest->base[d] + values_[d]);
      nest->indices.push_back(index);
      const Expr low = simplifier_.Simplify(index >= Expr(0));
      const Expr high = simplifier_.Simplify(index < Expr(stage.shape[d]));
      const bool is_soft = !stage.output && (stage.scope.overshoots || overshoots);
      for (const Expr& condition : {low, high}) {
        if (is_soft && !HasGuard(*nest, condition)) {
          soft = simplifier_.Simplify(And(soft, condition));
        } else {
          AddGuard(nest, condition, false);
        }
      }
    }
    int64_t constant = 0;
    if (!te::IsConstInt(soft, &constant) || constant == 0) nest->load_condition = soft;
  }

  static bool HasGuard(const Nest& nest, const Expr& condition) {
    return std::any_of(nest.guards.begin(), nest.guards.end(),
                       [&](const Guard& guard) { return guard.condition.Same(condition); });
  }

  // Whether a guard keeps the value below the extent.
  bool GuardedBelow(const Nest& nest, const Expr& value, int64_t extent) {
    return HasGuard(nest, simplifier_.Simplify(value < Expr(extent)));
  }

  void AddGuard(Nest* nest, const Expr& condition, bool mask) {
    const Expr simplified = simplifier_.Simplify(condition);
    int64_t constant = 0;
    if (te::IsConstInt(simplified, &constant) && constant != 0) return;
    if (!HasGuard(*nest, simplified)) nest->guards.push_back({simplified, mask});
  }

  void MakeBodies(int s, Nest* nest) {
    const Stage& stage = state_.stages[s];
    Stage resolved = stage;
    schedule::ResolveInlined(state_, &resolved);
    std::vector<std::pair<Expr, Expr>> replacements;
    const int rank = stage.AxisCount();
    for (int d = 0; d < rank; ++d) replacements.emplace_back(stage.axes[d].var, nest->indices[d]);
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r)
      replacements.emplace_back(stage.reduce_axes[r].var, values_[rank + r]);
    for (size_t r = 0; r < stage.reduce_axes.size(); ++r) nest->reduce_indices.push_back(values_[rank + r]);
    const auto finish = [&](const Expr& e) { return simplifier_.Simplify(te::Substitute(e, replacements)); };
    if (stage.reduce_axes.empty()) {
      for (const Expr& body : resolved.bodies) nest->values.push_back(finish(body));
    } else {
      for (const Expr& source : resolved.bodies[0]->operands) nest->values.push_back(finish(source));
      for (const Expr& init : resolved.bodies[0]->init) nest->init.push_back(finish(init));
    }
    nest->ahead = ReadsAhead(state_, stage, stage.reduce_axes.empty() ? resolved.bodies : resolved.bodies[0]->operands,
                             replacements);
    nest->reads = CollectReads(nest->values);
    nest->init_reads = CollectReads(nest->init);
    for (const Read& read : nest->reads) readers_[read.tensor].push_back({s, false, read});
    for (const Read& read : nest->init_reads) readers_[read.tensor].push_back({s, true, read});
  }

  // Reads, and whether all paths to them lead through the alternatives of a kIf.
  static std::vector<Read> CollectReads(const std::vector<Expr>& roots) {
    absl::flat_hash_set<const te::ExprNode*> unconditional;
    std::vector<Expr> pending(roots.begin(), roots.end());
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!unconditional.insert(e.get()).second) continue;
      if (e->kind == ExprKind::kIf) {
        pending.push_back(e->operands[0]);
        continue;
      }
      pending.insert(pending.end(), e->operands.begin(), e->operands.end());
    }
    std::vector<Read> reads;
    absl::flat_hash_set<const te::ExprNode*> seen;
    for (const Expr& root : roots) {
      te::Visit(root, [&](const Expr& e) {
        if (e->kind != ExprKind::kTensorRead || !seen.insert(e.get()).second) return;
        reads.push_back({e->tensor.get(), e->operands, !unconditional.contains(e.get())});
      });
    }
    return reads;
  }

  using Loop_ = schedule::Loop;
  struct Reader {
    int stage;
    bool in_init;
    Read read;
  };

  // The loops around a read, outer first: all of the reader's nest, or for an initial value those outside of its first
  // reduce loop.
  std::vector<Expr> LoopsAround(const Reader& reader) const {
    const Nest& nest = nests_[reader.stage];
    std::vector<Expr> around = nest.enclosing;
    for (const NestLoop& loop : nest.loops) {
      if (reader.in_init && loop.reduce) break;
      around.push_back(loop.var);
    }
    return around;
  }

  const schedule::State& state_;
  te::Simplifier& simplifier_;
  std::vector<Nest> nests_;
  absl::flat_hash_map<const te::Operation*, std::vector<Reader>> readers_;
  std::vector<Expr> values_;  // of the loops of the stage in hand, by number
};

}  // namespace

absl::StatusOr<std::vector<Nest>> InferBounds(const schedule::State& state, te::Simplifier& simplifier) {
  return Inference(state, simplifier).Run();
}

}  // namespace smelt::kernels::lower

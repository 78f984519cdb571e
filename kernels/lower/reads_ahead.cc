#include "kernels/lower/reads_ahead.h"

#include "absl/container/flat_hash_set.h"

namespace smelt::kernels::lower {

std::vector<ReadAhead> ReadsAhead(const schedule::State& state, const schedule::Stage& stage,
                                  const std::vector<Expr>& values,
                                  const std::vector<std::pair<Expr, Expr>>& positions) {
  std::vector<ReadAhead> ahead;
  for (size_t i = 0; i < stage.leaves.size(); ++i) {
    for (const schedule::PrefetchAhead& prefetch : stage.loops[stage.leaves[i]].prefetches) {
      if (prefetch.axis < 0) continue;
      const te::Operation* tensor = state.stages[state.IndexOf(prefetch.tensor)].identity.get();
      std::vector<std::pair<Expr, Expr>> further = positions;
      Expr& position = further[prefetch.axis].second;
      position = position + Expr(prefetch.iterations);
      absl::flat_hash_set<const te::ExprNode*> seen;
      for (const Expr& value : values) {
        te::Visit(value, [&](const Expr& e) {
          if (e->kind != te::ExprKind::kTensorRead || !seen.insert(e.get()).second) return;
          if (e->tensor.get() != tensor && !IsCopy(state.stages[state.IndexOf(e->tensor.get())], *tensor)) return;
          ReadAhead read{static_cast<int>(i), tensor, static_cast<int>(e->int_value), {}};
          for (const Expr& index : e->operands) read.indices.push_back(te::Substitute(index, further));
          ahead.push_back(std::move(read));
        });
      }
    }
  }
  return ahead;
}

}  // namespace smelt::kernels::lower

#include "kernels/lower/pass.h"

#include <algorithm>
#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/lower.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> RunStep(const char* name, const std::function<absl::StatusOr<ir::Function>()>& step,
                                     const PassContext& context) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<ir::Function> function = step();
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  if (context.options.dump != nullptr) {
    absl::StrAppend(context.options.dump, "== ", name, ": ", static_cast<int64_t>(elapsed.count()), " us\n",
                    function.ok() ? ir::ToString(*function) : function.status().ToString());
  }
  return function;
}

absl::StatusOr<ir::Function> RunPasses(ir::Function function, Pipeline passes, PassContext& context) {
  for (const Pass& pass : passes) {
    SMELT_ASSIGN_OR_RETURN(function, RunStep(
                                         pass.name, [&] { return pass.run(std::move(function), context); }, context));
  }
  return function;
}

void BindRanges(const ir::Function& function, te::Simplifier* simplifier) {
  // A variable may serve several sibling loops.
  absl::flat_hash_map<const te::ExprNode*, te::Interval> ranges;
  const auto bind = [&](const Expr& var, int64_t min, int64_t extent) {
    const te::Interval range{min, min + std::max<int64_t>(extent, 1) - 1};
    const auto [at, added] = ranges.try_emplace(var.get(), range);
    if (!added) at->second = te::Union(at->second, range);
    simplifier->Bind(var, at->second);
  };
  for (const ir::Phase& phase : function.phases) {
    if (phase.var) bind(phase.var, 0, phase.extent);
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& node) {
      int64_t min = 0, extent = 0;
      if (node.kind == ir::StmtKind::kFor && te::IsConstInt(node.min, &min) && te::IsConstInt(node.extent, &extent))
        bind(node.var, min, extent);
    });
  }
}

}  // namespace smelt::kernels::lower

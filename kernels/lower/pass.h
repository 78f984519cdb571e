// Passes of lowering, and pipelines of them as tables.
//
//   const auto look = [](ir::Function f, PassContext&) -> absl::StatusOr<ir::Function> {
//     std::cout << ir::ToString(f);
//     return f;
//   };
//   const Pass passes[] = {{"look", look, "where loops are as the schedule has them"}};
//   te::Simplifier simplifier;
//   BindRanges(function, &simplifier);
//   PassContext context{options, simplifier};
//   absl::StatusOr<ir::Function> same = RunPasses(function, passes, context);
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/ir/stmt.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

struct LowerOptions;  // lower/lower.h

using ir::Stmt;
using te::Expr;

// What the passes over one function share.
struct PassContext {
  const LowerOptions& options;
  te::Simplifier& simplifier;  // knows the ranges of all loops' variables
  // Variables that a pass made for a part of a phase's range, and the phase's variable, which each stands for. They go
  // back to it with RestoreParallelVariables (lower/restore.h).
  std::vector<std::pair<Expr, Expr>> aliases;
};

struct Pass {
  const char* name;
  absl::StatusOr<ir::Function> (*run)(ir::Function function, PassContext& context);
  const char* why;  // and why there, in a line
};
// A target's own table may have passes of its own between those of this folder.
using Pipeline = absl::Span<const Pass>;

// One after the other, up to the first error. With LowerOptions::dump, the time of each and the loops after it.
absl::StatusOr<ir::Function> RunPasses(ir::Function function, Pipeline passes, PassContext& context);

// One step of it, `name` in the dump: for what is no pass, since it begins with something else than loops.
absl::StatusOr<ir::Function> RunStep(const char* name, const std::function<absl::StatusOr<ir::Function>()>& step,
                                     const PassContext& context);

// Tells a new simplifier the ranges of the variables of all loops with constant bounds.
void BindRanges(const ir::Function& function, te::Simplifier* simplifier);

}  // namespace smelt::kernels::lower

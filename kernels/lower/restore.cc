#include "kernels/lower/restore.h"

#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> RestoreParallelVariables(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) phase.body = ir::Substitute(phase.body, context.aliases);
  context.aliases.clear();
  return function;
}

}  // namespace smelt::kernels::lower

// Compiles one kernel and runs it on literals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/compile/compile.h"

namespace smelt::cpu {

struct CompiledRun {
  std::vector<hlo::Literal> outputs;
  std::shared_ptr<const CompiledKernel> kernel;
};
absl::StatusOr<CompiledRun> RunCompiled(const hlo::Module& module, const std::vector<hlo::Literal>& inputs,
                                        const Target& target, const CompileOptions& options = {});

// How far the result of a module of one kernel and one array lies from the evaluator's, of the root mean square, under
// made inputs (hlo/golden/inputs.h); and the schedule.
struct CompiledError {
  double error = 0;
  std::string trace;
};
absl::StatusOr<CompiledError> ErrorOfCompiled(const hlo::Module& module, const Target& target);

}  // namespace smelt::cpu

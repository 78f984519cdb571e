#include "tests/targets/cpu/compile/run_compiled.h"

#include "absl/strings/str_cat.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"

namespace smelt::cpu {

absl::StatusOr<CompiledRun> RunCompiled(const hlo::Module& module, const std::vector<hlo::Literal>& inputs,
                                        const Target& target, const CompileOptions& options) {
  CompiledRun run;
  SMELT_ASSIGN_OR_RETURN(run.kernel, CompileKernel(*module.entry(), target, options, nullptr));
  const runtime::KernelDescriptor& descriptor = run.kernel->code->descriptor();
  std::vector<void*> buffers;
  for (const hlo::Literal& input : inputs) buffers.push_back(const_cast<void*>(input.raw()));
  std::vector<const hlo::Shape*> shapes;
  module.entry()->root()->shape().AppendLeaves(&shapes);
  for (const hlo::Shape* shape : shapes) run.outputs.emplace_back(*shape);
  for (hlo::Literal& output : run.outputs) buffers.push_back(output.raw());
  std::vector<hlo::Literal> scratch;
  const auto bytes = [](int64_t count) {
    return hlo::Literal(hlo::Shape::Array(hlo::PrimitiveType::kU8, {std::max<int64_t>(count, 64)}));
  };
  for (int64_t size : descriptor.shared_bytes) scratch.push_back(bytes(size));
  for (hlo::Literal& buffer : scratch) buffers.push_back(buffer.raw());
  hlo::Literal thread_scratch = bytes(descriptor.thread_scratch_bytes);
  ScopedFlushSubnormals flush;
  for (size_t phase = 0; phase < descriptor.phases.size(); ++phase) {
    run.kernel->code->function(static_cast<int64_t>(phase))(buffers.data(), thread_scratch.raw(), 0,
                                                            descriptor.phases[phase].extent);
  }
  return run;
}

absl::StatusOr<CompiledError> ErrorOfCompiled(const hlo::Module& module, const Target& target) {
  SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> inputs, hlo::MakeInputs(module));
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal want, hlo::Evaluate(module, arguments));
  SMELT_ASSIGN_OR_RETURN(const CompiledRun got, RunCompiled(module, inputs, target));
  CompiledError result{.trace = absl::StrCat(got.kernel->trace)};
  SMELT_ASSIGN_OR_RETURN(result.error, hlo::ComparisonError(want, got.outputs[0], hlo::GoldenMetric::kRms));
  return result;
}

}  // namespace smelt::cpu

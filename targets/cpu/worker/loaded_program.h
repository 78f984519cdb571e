// A compiled program in the measuring child, with inputs and room for results, ready to be timed.
//
//   InputPool inputs;
//   auto program = LoadedProgram::Load(module_text, target, options, inputs).value();
//   program->Prepare();
//   double seconds = program->Sample().value();
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "measure/placed_array.h"
#include "measure/test_inputs.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/program/executable.h"

namespace smelt::cpu {

// Inputs by the formula of hlo/golden/inputs.h, made once for all programs and kernels that have the same parameters.
class InputPool {
 public:
  // For the `leaf`-th array parameter (tokens: any number).
  absl::StatusOr<std::shared_ptr<const measure::PlacedArray>> Get(const hlo::Shape& shape, int64_t leaf,
                                                                  measure::InputKind kind);

 private:
  static constexpr int64_t kLimitBytes = int64_t{1} << 30;  // beyond it, what no program uses goes
  std::map<std::string, std::shared_ptr<const measure::PlacedArray>> arrays_;
  int64_t bytes_ = 0;
};

class LoadedProgram {
 public:
  // Parses and compiles. `text` is a fused module's.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const std::string& text, const cpu::Target& target,
                                                             const cpu::ExecutableOptions& options, InputPool& inputs,
                                                             measure::InputKind kind = measure::InputKind::kUnit);

  absl::Status Run();
  // Warms up and finds how many runs make one sample of at least 100 us.
  absl::Status Prepare();
  // Seconds of one run, averaged over a sample's runs.
  absl::StatusOr<double> Sample();
  struct KernelTimes {
    std::vector<double> seconds;      // in one run of the program, all executions together; minimum over the rounds
    std::vector<int64_t> executions;  // in one run
  };
  // One entry an entry of executable().kernels().
  absl::StatusOr<KernelTimes> TimeKernels(int rounds);

  const cpu::Executable& executable() const { return *executable_; }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const;  // of the last run; leaves

 private:
  LoadedProgram() = default;

  std::unique_ptr<cpu::Executable> executable_;
  std::vector<std::shared_ptr<const measure::PlacedArray>> inputs_;
  std::vector<hlo::Shape> output_shapes_;
  std::vector<measure::PlacedArray> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  int64_t runs_per_sample_ = 1;
};

}  // namespace smelt::cpu

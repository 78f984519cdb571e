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
#include "kernels/runtime/executable.h"
#include "kernels/target.h"
#include "tuner/measure/placed_array.h"
#include "tuner/measure/test_inputs.h"

namespace smelt::tuner {

// Inputs by the formula of hlo/golden/inputs.h, made once for all programs and kernels that have the same parameters.
class InputPool {
 public:
  // For the `leaf`-th array parameter (tokens: any number).
  absl::StatusOr<std::shared_ptr<const PlacedArray>> Get(const hlo::Shape& shape, int64_t leaf, InputKind kind);

 private:
  static constexpr int64_t kLimitBytes = int64_t{1} << 30;  // beyond it, what no program uses goes
  std::map<std::string, std::shared_ptr<const PlacedArray>> arrays_;
  int64_t bytes_ = 0;
};

class LoadedProgram {
 public:
  // Parses and compiles. `text` is a fused module's.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Load(const std::string& text, const kernels::Target& target,
                                                             const kernels::runtime::ExecutableOptions& options,
                                                             InputPool& inputs, InputKind kind = InputKind::kUnit);

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

  const kernels::runtime::Executable& executable() const { return *executable_; }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const;  // of the last run; leaves

 private:
  LoadedProgram() = default;

  std::unique_ptr<kernels::runtime::Executable> executable_;
  std::vector<std::shared_ptr<const PlacedArray>> inputs_;
  std::vector<hlo::Shape> output_shapes_;
  std::vector<PlacedArray> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  int64_t runs_per_sample_ = 1;
};

}  // namespace smelt::tuner

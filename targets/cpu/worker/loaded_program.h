// A compiled program in the measuring child, with inputs and room for results, ready to be timed.
//
//   InputPool inputs;
//   auto program = LoadedProgram::Compile(module_text, target, options).value();
//   program->TakeInputs({}, inputs);
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

// Where a program's inputs come from.
struct InputSource {
  measure::InputKind kind = measure::InputKind::kUnit;  // by the formula of hlo/golden/inputs.h
  // Where not empty: a safetensors file instead, with one entry in.0, in.1, ... for each array leaf of the parameters,
  // as hlo::ToStorable makes them.
  std::string file;
};

// Inputs, made once for all programs and kernels that have the same ones.
class InputPool {
 public:
  using Array = std::shared_ptr<const measure::PlacedArray>;
  // Values by the formula, for the `leaf`-th array leaf of the parameters.
  absl::StatusOr<Array> Get(const hlo::Shape& shape, int64_t leaf, measure::InputKind kind);
  // These values for it.
  absl::StatusOr<Array> Get(const hlo::Literal& value, int64_t leaf);

 private:
  absl::StatusOr<Array> Keep(std::string key, const hlo::Literal& value, int64_t leaf);

  static constexpr int64_t kLimitBytes = int64_t{1} << 30;  // beyond it, what no program uses goes
  std::map<std::string, Array> arrays_;
  int64_t bytes_ = 0;
};

class LoadedProgram {
 public:
  // Parses and compiles. `text` is a fused module's.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Compile(const std::string& text, const cpu::Target& target,
                                                                const cpu::ExecutableOptions& options);
  // Comes before the first run. Unavailable: the file of inputs does not fit or cannot be read, which says nothing of
  // the program.
  absl::Status TakeInputs(const InputSource& source, InputPool& pool);

  absl::Status Run();
  // Warms up and finds how many runs make one sample of at least 100 us.
  absl::Status Prepare();
  // Seconds of one run, averaged over a sample's runs.
  absl::StatusOr<double> Sample();
  struct KernelTimes {
    std::vector<double> seconds;      // in one run of the program, all executions together; minimum over the rounds
    std::vector<double> median;       // of one execution, over all of all rounds
    std::vector<int64_t> executions;  // in one run
  };
  // One entry an entry of executable().kernels().
  absl::StatusOr<KernelTimes> TimeKernels(int rounds);

  const cpu::Executable& executable() const { return *executable_; }
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const;  // of the last run; leaves

 private:
  LoadedProgram() = default;

  std::unique_ptr<cpu::Executable> executable_;
  std::vector<hlo::Shape> input_shapes_;  // leaves, tokens too
  std::vector<InputPool::Array> inputs_;
  std::vector<hlo::Shape> output_shapes_;
  std::vector<measure::PlacedArray> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  int64_t runs_per_sample_ = 1;
};

}  // namespace smelt::cpu

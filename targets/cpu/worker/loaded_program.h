// A compiled program in the measuring child, with inputs and room for results, ready to be timed.
//
//   InputPool inputs;
//   auto program = LoadedProgram::Compile(module_text, target, options, inputs).value();
//   program->TakeInputs({});
//   program->Prepare();
//   double seconds = program->Sample().value();
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "measure/placed_array.h"
#include "measure/program_device.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/program/executable.h"
#include "targets/cpu/worker/distant_arrays.h"
#include "targets/cpu/worker/input_pool.h"

namespace smelt::cpu {

class LoadedProgram : public measure::DeviceProgram {
 public:
  // Parses and compiles. `text` is a fused module's. `pool` must outlive it.
  static absl::StatusOr<std::unique_ptr<LoadedProgram>> Compile(const std::string& text, const cpu::Target& target,
                                                                const cpu::ExecutableOptions& options, InputPool& pool);
  absl::Status TakeInputs(const measure::InputSource& source) override;
  absl::Status Run() override;
  absl::StatusOr<std::vector<hlo::Literal>> Outputs() const override;
  absl::StatusOr<KernelTimes> TimeKernels(int rounds) override;
  nlohmann::json ProgramFacts() const override;
  nlohmann::json KernelFacts() const override;

  const cpu::Executable& executable() const { return *executable_; }

 private:
  LoadedProgram(InputPool& pool, int64_t far_bytes) : pool_(pool), distant_(pool, far_bytes) {}

  InputPool& pool_;
  DistantArrays distant_;
  std::unique_ptr<cpu::Executable> executable_;
  std::vector<hlo::Shape> input_shapes_;  // leaves, tokens too
  std::vector<double> read_bytes_;        // by a run, of each parameter
  std::vector<InputPool::Array> inputs_;
  std::vector<hlo::Shape> output_shapes_;
  std::vector<measure::PlacedArray> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
};

}  // namespace smelt::cpu

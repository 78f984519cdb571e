// A layer as a program of the accelerator: built once, its time known from one run of the cycle simulator, run on raw
// buffers.
//
//   auto program = LayerProgram::Build(kernel, layer, schedule, config).value();
//   double seconds = program->seconds();
//   program->Run(simulator, inputs, output).ok();
//
// Times do not depend on the values, so that they are exact and the same on every machine.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/kernel.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "targets/vdla/layer.h"
#include "vdla/isa/program.h"
#include "vdla/lower/convolution.h"

namespace smelt::vdla {

// The simulated machine that the programs of one device run on, one at a time.
class Simulator {
 public:
  static absl::StatusOr<std::unique_ptr<Simulator>> Create(const isa::Config& config, sim::Timing timing);

 private:
  friend class LayerProgram;
  Simulator(std::unique_ptr<sim::Machine> machine, sim::Timing timing)
      : machine_(std::move(machine)), timing_(timing) {}
  std::mutex mutex_;
  const std::unique_ptr<sim::Machine> machine_;
  const sim::Timing timing_;
};

class LayerProgram {
 public:
  // Emits the schedule's instructions and runs them once. Errors: the lowering's (a tile that does not fit, by name);
  // Internal, where the simulator finds a race, a deadlock or a trap, which are bugs of the lowering.
  static absl::StatusOr<std::unique_ptr<LayerProgram>> Build(std::shared_ptr<const fusion::Kernel> kernel, Layer layer,
                                                             const lower::ConvolutionSchedule& schedule,
                                                             const isa::Config& config);

  const isa::Program& program() const { return program_; }
  const sim::Report& report() const { return report_; }
  const lower::ConvolutionSchedule& schedule() const { return schedule_; }
  const Layer& layer() const { return layer_; }
  double seconds() const { return report_.seconds; }
  // The schedule and where the cycles went, for people.
  std::string Describe() const;

  // Inputs: the leaves of the kernel's parameters, in HLO's order. Errors name the layer; a multiplier beyond the
  // instruction set's 24 bits is OutOfRange.
  absl::Status Run(Simulator& simulator, absl::Span<const void* const> inputs, void* output) const;

 private:
  LayerProgram(std::shared_ptr<const fusion::Kernel> kernel, Layer layer, const lower::ConvolutionSchedule& schedule)
      : kernel_(std::move(kernel)), layer_(std::move(layer)), schedule_(schedule) {}
  absl::Status WriteInputs(sim::Machine& machine, absl::Span<const void* const> inputs) const;

  std::shared_ptr<const fusion::Kernel> kernel_;  // whose constants the layer reads
  const Layer layer_;
  const lower::ConvolutionSchedule schedule_;
  isa::Program program_;
  sim::Report report_;
};

}  // namespace smelt::vdla

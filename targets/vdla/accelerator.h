// The accelerator with the host beside it: which kernels it runs, with which schedule, and how long each kernel takes.
//
//   Accelerator accelerator(isa::Config::Named("pynq").value());
//   double seconds = accelerator.RoughSeconds(kernel.computation());     // before anything is simulated
//   std::vector<std::string> ways = accelerator.WaysOf(kernel.computation());       // schedules, the default first
//
// Kernels that are no layers (layer.h) run on the host, whose times are the analytical model's for a stated processor:
// `pynq` stands beside a Cortex-A9, as on the board of the TVM paper. Immutable and thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "machine/machine.h"
#include "targets/vdla/layer.h"
#include "targets/vdla/layer_program.h"
#include "vdla/isa/config.h"

namespace smelt::vdla {

class Accelerator {
 public:
  explicit Accelerator(isa::Config config);

  const isa::Config& config() const { return config_; }
  // What features of kernels and tiles see: memories by scope, peak of the GEMM unit.
  const machine::Machine& machine() const { return machine_; }
  const machine::Machine& host() const { return host_; }

  // Formulas alone: EstimateCycles of the default schedule, or the host's analytical cost.
  double RoughSeconds(const hlo::Computation& kernel) const;
  double HostSeconds(const hlo::Computation& kernel) const;
  // Why the host runs a kernel, by the formulas: it is no layer, fits no memory, or is done sooner there. OK: it does
  // not.
  absl::Status WhyOnHost(const hlo::Computation& kernel) const;
  // From one layout to the other, on the host: bytes that are read and written.
  double PackSeconds(double read, double written) const;

  // The schedules of a kernel that are worth a trial, as text, best estimate first, then `host`; empty: the host runs
  // it in any case.
  std::vector<std::string> WaysOf(const hlo::Computation& kernel) const;
  // Where a kernel runs, and how long it takes there.
  struct Choice {
    std::shared_ptr<const LayerProgram> layer;  // null: on the host
    double seconds = 0;                         // of one execution, calling the accelerator included
  };
  // `way`: one of WaysOf; empty: the accelerator with Build's default, or the host where the kernel is no layer, fits
  // no memory, or is done sooner there. Errors: Build's.
  absl::StatusOr<Choice> Choose(const fusion::Kernel& kernel, const std::string& way) const;
  // `way`: one of the schedules; empty: the default, the best of the first few by the cycle simulator. Unimplemented:
  // the kernel is no layer. InvalidArgument: there is no such schedule.
  absl::StatusOr<std::unique_ptr<LayerProgram>> Build(std::shared_ptr<const fusion::Kernel> kernel,
                                                      const std::string& way) const;

 private:
  std::vector<lower::ConvolutionSchedule> Schedules(const lower::Convolution& convolution) const;
  // Cycles of its best schedule by the formula; 0: none fits. Remembered: a search asks for few layers many times.
  double LeastCycles(const lower::Convolution& convolution) const;

  const isa::Config config_;
  machine::Machine machine_, host_;
  mutable std::mutex mutex_;
  mutable absl::flat_hash_map<std::string, double> cycles_;  // by all that a layer's schedules depend on
};

}  // namespace smelt::vdla

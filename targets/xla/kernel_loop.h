// One kernel as a module of its own, which XLA runs as often as its first argument says.
//
//   fusion::Kernel kernel = evaluator.KernelFor(reference);
//   std::unique_ptr<hlo::Module> loop = KernelLoop(kernel, {.threads = 1}).value();   // (n, arguments...) -> n
//
// The kernel stands in the body of a loop in the form that it has in a program (loop_fusions.h), so that one call from
// outside, which takes tens of microseconds, is shared by many runs of it: what is left beside the kernel is XLA's
// loop, a fraction of a microsecond a run. Results are dropped, but for a kernel that updates an argument in place,
// which goes on with what it wrote.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "hlo/module.h"
#include "measure/runner.h"
#include "targets/xla/loop_fusions.h"

namespace smelt::xla {

// Unimplemented: a kernel with arguments that are no arrays.
absl::StatusOr<std::unique_ptr<hlo::Module>> KernelLoop(const fusion::Kernel& kernel, const LoopFusionOptions& options);

// Times one run of it in XLA's child. What cannot be timed has its reason in the outcome. `reference`:
// Runner::TimeKernel's, without choices of its own.
measure::Outcome TimeKernelOnXla(measure::Runner& runner, const fusion::Kernel& kernel,
                                 const LoopFusionOptions& options, const fusion::Kernel* reference = nullptr);

// A kernel that does nothing but read and write one number: what it takes in such a loop is the least that can be told
// from nothing.
fusion::Kernel EmptyKernel();

}  // namespace smelt::xla

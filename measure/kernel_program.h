// A program that runs one kernel and nothing else: what is compiled when a kernel is timed alone.
#pragma once

#include <memory>

#include "fusion/kernel.h"
#include "hlo/module.h"

namespace smelt::measure {

// The entry computation calls the kernel as one fusion, so that the executor compiles its instructions together; a
// kernel of one instruction stands there as it is, since what has no loop nest is never inside a fusion. Kernels of the
// result have the hash of `kernel`.
std::unique_ptr<hlo::Module> ProgramOfKernel(const fusion::Kernel& kernel);

}  // namespace smelt::measure

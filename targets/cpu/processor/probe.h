// Measures what a Target says of this machine's speed, with kernels of our own code generator.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu {

// Fills the peaks and overheads of `target`, whose names, widths and cache sizes are already those of this machine.
// Takes about two seconds. Each figure is the best of many short runs, so that other work on this machine changes it
// little.
absl::Status MeasureTarget(Target* target);

// The figures by themselves, each the best of several repeats on the calling thread. `bytes`: of the array that is
// read, or of each of the two arrays of a copy.
absl::StatusOr<double> MeasurePeakFlops(const Target& target);    // flop/s of f32
absl::StatusOr<double> MeasureVectorFlops(const Target& target);  // Machine::vector_flops_f32, not held to the peak
absl::StatusOr<double> MeasureReadBandwidth(const Target& target, int64_t bytes);  // bytes/s
absl::StatusOr<double> MeasureCopyBandwidth(const Target& target, int64_t bytes);  // read plus written bytes/s

}  // namespace smelt::cpu

// The schedule that a kernel gets where nobody asks for another one.
//
//   schedule::Schedule schedule = DefaultSchedule(kernel.computation(), machine).value();
//
// The compiler looks at it first and keeps it, but for some products whose register tile spills
// (targets/cpu/compile/compile.h). Under a millisecond, without code generation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/computation.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {

// The algorithm is the one expected to be the fastest where weights are arguments (algorithm_choice.h). Errors:
// PreferredSchedule's, of a kernel without a loop nest.
absl::StatusOr<schedule::Schedule> DefaultSchedule(const hlo::Computation& kernel, const machine::Machine& target);

// Array leaves of the kernel's result, by number, that go to memory past the caches: a program that touches more bytes
// than the last cache holds until it is written again, or read by whoever runs it, would find nothing of it there, and
// a store through the caches reads each line before. `distances`: fusion::Kernel's.
std::vector<int64_t> StreamedResults(const hlo::Computation& kernel, absl::Span<const int64_t> distances,
                                     const machine::Machine& target);
// Whether a result of so many bytes, with so many touched between its uses, is one.
bool IsStreamed(int64_t bytes, int64_t distance, const machine::Machine& target);
// What a trace says of them, a comment in a line of its own; empty where there are none.
std::string StreamedRemark(absl::Span<const int64_t> streamed);

// The trace by which corpora know what the default was.
absl::StatusOr<std::string> DefaultTrace(const hlo::Computation& kernel, absl::Span<const int64_t> distances,
                                         const machine::Machine& target);

}  // namespace smelt::kernels::cost

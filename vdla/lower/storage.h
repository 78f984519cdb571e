// Where each buffer lies in its memory on the chip.
//
//   Storage storage = PlanStorage(operations, config).value();
//   int64_t first = storage.base[0];    // element of the first buffer, of the first virtual thread
//
// A buffer lives inside its Allocate, so two that stand beside each other share a place, and one inside another lies
// behind it. A virtual loop around an Allocate multiplies the buffer, one copy after the other, and so do turns.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "vdla/isa/config.h"
#include "vdla/lower/operations.h"

namespace smelt::vdla::lower {

struct Storage {
  std::vector<int64_t> base;  // by SRAM buffer: its first element
  // The virtual loops around the Allocate of each SRAM buffer, and the elements from one thread's copy to the next
  // one's.
  std::vector<std::vector<std::pair<Variable, int64_t>>> threads;
};

// ResourceExhausted names the buffer that does not fit, its elements and bytes, and what the memory has left.
// InvalidArgument: a buffer allocated twice, or used where it is not allocated.
absl::StatusOr<Storage> PlanStorage(const Operations& operations, const isa::Config& config);

}  // namespace smelt::vdla::lower

// Places the buffers of a program in one piece of memory.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/program.h"

namespace smelt::cpu {

// Gives every arena buffer an offset, a multiple of 64, so that buffers alive at once do not overlap; buffers that
// start later take memory that has just been freed, which is still in cache. Returns the bytes of the arena.
// ResourceExhausted when they do not fit 63 bits. n log n.
absl::StatusOr<int64_t> PlanArena(runtime::Program* program);

}  // namespace smelt::cpu

// Places the buffers of a program in pieces of memory: the arena of its values, what it keeps of known values, and what
// single steps of its setup need.
#pragma once

#include "absl/status/status.h"
#include "runtime/program.h"

namespace smelt::cpu {

// Gives every arena buffer an offset, a multiple of 64, so that buffers alive at once do not overlap; buffers that
// start later take memory that has just been freed, which is still in cache. What is kept lies one after the other.
// Sets the program's arena_bytes, kept_bytes and setup_bytes. ResourceExhausted when they do not fit 63 bits. n log n.
absl::Status PlanArena(runtime::Program* program);

}  // namespace smelt::cpu

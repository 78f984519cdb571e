// Programs at random, legal and free of races, whose three units run beside each other: what simulators and hardware are compared on.
//
//   isa::Program program = RandomProgram(config, /*seed=*/17, /*instructions=*/40);
//
// Tokens follow from what instructions touch (isa::AccessesOf), each where an order between two units is needed and not yet there. Loads read
// segments that no store writes.
#pragma once

#include <cstdint>

#include "vdla/isa/config.h"
#include "vdla/isa/program.h"

namespace smelt::vdla {

// The machine has 1 MB of DRAM or somewhat less, and eight elements or more in each memory. Accumulators leave in segments of role kOutput.
isa::Program RandomProgram(const isa::Config& config, uint64_t seed, int instructions);

// Moves an index of one instruction, chosen at random, outside its memory or DRAM. Its number, or -1 where no instruction has one that can be moved.
int64_t BreakOneIndex(isa::Program& program, uint64_t seed);

}  // namespace smelt::vdla

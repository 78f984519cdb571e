// Which buffers each phase of a lowered kernel reads and writes: what a program needs to know to run a phase once where
// everything that it reads is known.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// Numbers of arguments, then of shared scratch, as runtime::PhaseFunction has them; ascending, each once.
struct PhaseAccesses {
  std::vector<int64_t> reads;
  std::vector<int64_t> writes;
};

// The function is one that CheckFunction finds right. What is allocated within the phase does not count.
PhaseAccesses AccessesOf(const kernels::ir::Function& function, const kernels::ir::Phase& phase);

}  // namespace smelt::cpu::codegen

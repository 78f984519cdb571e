// Which earlier instructions of the other units an instruction has to wait for, and why: read after write, write after
// read, write after write, on elements of the memories and on bytes of DRAM.
//
//   Step load{.unit = isa::Unit::kLoad, .accesses = &writes_inputs};
//   Step gemm{.unit = isa::Unit::kCompute, .accesses = &reads_inputs};
//   std::vector<Needs> needs = FindDependences({load, gemm});   // needs[1][0] == 0: the second waits
//
// The stream of instructions has no branches, so the sets are exact: there is no distance of iterations to estimate, no
// loop that may run once or not at all, and nothing is assumed about what two addresses have in common.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "vdla/isa/accesses.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::lower {

// One instruction, as far as its order matters. `accesses` is borrowed for the call that takes the step; null: none.
struct Step {
  isa::Unit unit = isa::Unit::kCompute;
  const isa::Accesses* accesses = nullptr;
  bool waits_for_all = false;  // a FINISH: everything before it is done when it runs
};

// The latest earlier step of each unit to wait for, as an index; -1: none. A unit runs its instructions in
// order, so that the latest stands for all. -1 for the step's own unit.
using Needs = std::array<int64_t, isa::kUnits>;

// The needs of each step, for steps in the order of the sequential program. Time grows with the number of ranges that
// the accesses have and, for each, the boundaries of other ranges inside it.
std::vector<Needs> FindDependences(absl::Span<const Step> steps);

}  // namespace smelt::vdla::lower

// Counts the vector registers that code keeps on the stack inside its innermost loops.
//
// A register tile that spills runs at half its speed, and the same loop nest may spill with one LLVM version and not
// with another, so the count is taken from the machine code itself. What lies around those loops, such as the borders
// of a convolution, runs too seldom to matter.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/Pass.h>

namespace smelt::cpu::codegen {

// A machine pass to run last: adds to *count the stores of vector registers to spill slots and
// the loads from them, in innermost loops.
llvm::Pass* CreateVectorSpillCounter(int* count);

}  // namespace smelt::cpu::codegen

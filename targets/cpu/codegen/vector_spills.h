// Counts the vector registers that code keeps on the stack inside its loops.
//
// A register tile that spills runs at half its speed, and the same loop nest may spill with one LLVM version and not
// with another, so the count is taken from the machine code itself.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/Pass.h>

namespace smelt::cpu::codegen {

// A machine pass to run last: adds to *count the stores to and loads from spill slots, of 16 bytes or more, in loops.
llvm::Pass* CreateVectorSpillCounter(int* count);

}  // namespace smelt::cpu::codegen

// The optimisations of generated code, chosen for what the emitter leaves to do and for compile time.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace smelt::cpu::codegen {

void Optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace smelt::cpu::codegen

// LLVM's description of a Target: triple, CPU and features.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu::codegen {

// The triple follows from the CPU's name: x86-64 or AArch64 Linux. InvalidArgument when no known architecture has it.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

// Whether the machine's CPU has a feature, by LLVM's name of it.
bool MachineHas(const llvm::TargetMachine& machine, std::string_view feature);

}  // namespace smelt::cpu::codegen

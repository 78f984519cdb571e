// Walks over what a rewrite is for: every instruction of one opcode in a module.
//
//   const bool changed = RewriteEach(module, Opcode::kCopy, [](Instruction& copy) {
//     copy.ReplaceAllUsesWith(copy.operand(0));
//     return true;
//   });
#pragma once

#include "absl/functional/function_ref.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Whether `rewrite` has changed anything; it says so of each one that it is given. What it adds is not visited, and it
// may remove the instruction at hand and others, but none of the same opcode.
bool RewriteEach(Module& module, Opcode opcode, absl::FunctionRef<bool(Instruction&)> rewrite);

}  // namespace smelt::hlo

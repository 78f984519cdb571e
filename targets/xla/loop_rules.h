// What XLA's code generator for CPUs takes as one loop fusion.
//
//   fusion::Space space = fusion::Space::Build(module, LoopRules()).value();
//
// A kLoop fusion computes each element of its result from its operands anew. Nothing is kept inside, so that a value
// that a consumer reads again is computed again, a reduction as well; an instruction's code stands in the kernel once
// for each index at which it is read. Contractions, sorts, transforms of Fourier, random numbers and calls run alone.
//
// Fusion happens after XLA has decided which buffers are written over in place (loop states, updated slices), and has
// made copies where a value is read after that. A fusion must not read such a buffer later than the program did.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "fusion/rules.h"
#include "hlo/module.h"

namespace smelt::xla {

// TargetId::kind of XLA:CPU.
inline constexpr const char* kKind = "xla";

// The rules of legality.
fusion::Rules LoopRules();

// Target of the custom calls that stand for fusions of XLA's that are kept as they are; they read their operands and
// write a result of their own.
inline constexpr const char* kHeldFusion = "smelt$held_fusion";
bool IsHeldFusion(const hlo::Instruction& instruction);

// The instruction's role as the kernel's: what a loop fusion holds is kInjective or kReduction, everything else
// kOpaque.
fusion::Role RoleInLoopFusion(const hlo::Instruction& instruction);

// Whether XLA itself would run the instruction, alone, as a loop fusion of one.
bool RunsAsLoopFusion(const hlo::Instruction& instruction);

// Whether it is one of the copies that keep a value from being written over: nothing moves.
bool KeepsValueFromOverwriting(const hlo::Instruction& instruction);

// The copy at the end of a loop's body that alone writes over element `i` of the loop's state, after everything that
// reads the element (which whoever changes the order of the body must see to); null where there is none, or where
// another such copy reads the element, as in a swap.
const hlo::Instruction* LateCopy(const hlo::Instruction& loop, int64_t i);
// Instructions of the body that read element `i` of the state, through bitcasts and tuples.
std::vector<hlo::Instruction*> StateReaders(const hlo::Instruction& loop, int64_t i);

// Values whose buffers something else writes over during the program: states of loops that change, operands of updates
// in place, what is handed to such a computation, and the bitcasts of all these.
absl::flat_hash_set<const hlo::Instruction*> OverwrittenValues(const hlo::Module& module);

}  // namespace smelt::xla

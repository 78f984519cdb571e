// Says whether a module is well formed, and if not, which instruction is wrong and why.
//
//   SMELT_RETURN_IF_ERROR(VerifyModule(module));
//   // `sum.3` in computation `main`: add: operands must have the same dimensions, are `x` of shape f32[2] and
//   // `y` of shape f32[3]
//
// The verifier checks roots and parameters of computations, that operands stand in the same computation, that neither
// instructions nor computations form a cycle, operand counts, element types, shapes against shape inference (layouts
// are only checked for being permutations), the signatures of called computations, and aliases of the header. Names are
// unique by construction. Linear in the size of the module; does not recurse.
//
// What passes, evaluation, fusion and lowering take for granted about a module is what is checked here, so a module
// from a text or a pass is verified before they see it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct Problem {
  const Computation* computation = nullptr;  // null: the problem is the module's
  const Instruction* instruction = nullptr;  // null: the problem is the computation's
  std::string message;                       // what was expected and what there is
};

// The first problem, callees before callers.
std::optional<Problem> FindProblem(const Module& module);

// The same as an InvalidArgumentError.
absl::Status VerifyModule(const Module& module);

}  // namespace smelt::hlo

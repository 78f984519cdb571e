// Rewrites instructions by a table of algebraic rules until none applies.
//
//   reshape(reshape(x))                   ->  reshape(x)
//   slice(concatenate(a, b))              ->  slice(a), where it lies in a
//   divide(x, broadcast(8))               ->  multiply(x, broadcast(0.125))
//   compare(iota, broadcast(0)), LT       ->  broadcast(false)
//
// The rules are data: algebra/rule.h says what each must keep (values bit for bit, but for the order of reductions),
// and the tables beside it hold one line each. Works from a list of what changed, so the time is linear in the module
// plus the rewrites; their number is bounded. Dynamic shapes and instructions with control dependencies are left alone.
// Returns true if the module changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SimplifyAlgebra(Module& module);

// Names of all rules, in the order in which they are tried.
std::vector<std::string> AlgebraicRuleNames();

// Applies one rule of the table only, for tests and for finding out what a rule does to a program. An unknown name is
// an InvalidArgumentError.
absl::StatusOr<bool> ApplyAlgebraicRule(Module& module, std::string_view rule);

}  // namespace smelt::hlo

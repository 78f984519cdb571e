// Results as their array leaves, and how far one may be from another.
#pragma once

#include <vector>

#include "hlo/literal.h"

namespace smelt::fuzz {

// The array leaves of a value, in order; tokens are left out.
std::vector<hlo::Literal> LeavesOf(const hlo::Literal& value);
void AppendLeaves(const hlo::Literal& value, std::vector<const hlo::Literal*>* leaves);

// Error of a result against the expected one, by root mean square: 0 where equal. Relative to the expected values, or
// to a tenth where they are smaller: inputs are of the order of 1, and what is left of them where they cancel is
// compared with them, not with itself. Integers and predicates: the share that differs. Infinite where only one side is
// finite.
double LeafError(const hlo::Literal& want, const hlo::Literal& got);

}  // namespace smelt::fuzz

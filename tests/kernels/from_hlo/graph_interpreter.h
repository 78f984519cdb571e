// Runs tensor expressions as they are defined, one operation after the other and one element after the other: says
// whether from_hlo means the right thing, whatever schedules and lowering make of it.
#pragma once

#include <vector>

#include "hlo/literal.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

std::vector<hlo::Literal> Interpret(const Graph& graph, const std::vector<hlo::Literal>& inputs);

}  // namespace smelt::kernels::te

// Comparison of a kernel's outputs with the evaluator's.
#pragma once

#include <string>
#include <vector>

#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::kernels {

// Inputs by the formula of golden files; what the evaluator makes of them, leaf by leaf. Complex numbers are pairs of
// real ones here, as in te::FromHlo.
struct Reference {
  std::vector<hlo::Literal> inputs;
  std::vector<hlo::Literal> outputs;
};
Reference MakeReference(const hlo::Module& module);

// Empty where they agree: integers exactly, floats within `tolerance` of the largest magnitude of the output or
// relative to the element. Otherwise the first element that differs.
std::string Difference(const std::vector<hlo::Literal>& got, const std::vector<hlo::Literal>& want,
                       double tolerance = 2e-5);

}  // namespace smelt::kernels

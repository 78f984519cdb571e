// Which parameters of a program are its weights, and their values from a file.
//
//   WeightParameters found = FindWeightParameters(module, /*inputs=*/{}).value();
//   std::cout << found.numbers.size() << " weights, " << found.how;
//   Weights weights = ReadWeights("resnet18.safetensors", module).value();
//
// Programs take weights as arguments like any other, and nothing in HLO says which these are.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/quantize/known_values.h"

namespace smelt::hlo::quantize {

struct WeightParameters {
  std::set<int64_t> numbers;
  std::string how;  // for people: how they were told from inputs
};

// `inputs` are names or numbers of parameters; where there are any, weights are all other parameters that are arrays of
// floats. Otherwise those whose names begin as front ends name trees of weights (params, variables, weights,
// batch_stats, state), and where no name does, by use: what reaches the second operand of a convolution or dot through
// rearrangements alone, vectors, and tables that only gathers read. InvalidArgument: a name or number that no parameter
// has; nothing is left as an input.
absl::StatusOr<WeightParameters> FindWeightParameters(const Module& module, const std::vector<std::string>& inputs);

// Tensors named `in.K` after the array leaf that they are for, as `run --inputs` reads them, or after the parameter:
// `params['stem']['conv']`, `params.stem.conv` and `params__stem____conv__.1` are one name. Parameters that the file
// has no tensor for are no weights. InvalidArgument: a tensor fits no parameter, or the file has none.
absl::StatusOr<Weights> ReadWeights(const std::string& path, const Module& module);

}  // namespace smelt::hlo::quantize

// Makes tensor expressions of a kernel's HLO computation: the one place that turns HLO semantics into index
// expressions.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/te/hlo/algorithm.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// Tag of what says an operand again that a product already has on its left: worth an array where it can be packed.
inline constexpr std::string_view kReadAgain = "read again";

// One operation an instruction (and helper operations where one needs several); parameters become placeholders, the
// root's leaves the graph's outputs. Every instruction must have a loop nest (hlo/loop_nest.h).
// `algorithm`: of its convolution; InvalidArgument where that cannot be computed so (CheckAlgorithm of algorithm.h).
absl::StatusOr<Graph> FromHlo(const hlo::Computation& kernel,
                              ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kDirect);

}  // namespace smelt::kernels::te

// Makes tensor expressions of a kernel's HLO computation: the one place that turns HLO semantics into index
// expressions.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/te/hlo/algorithm.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// One operation an instruction (and helper operations where one needs several); parameters become placeholders, the
// root's leaves the graph's outputs. Every instruction must have a loop nest (hlo/loop_nest.h).
// `algorithm`: of its convolution; InvalidArgument where that cannot be computed so (CheckAlgorithm of algorithm.h).
absl::StatusOr<Graph> FromHlo(const hlo::Computation& kernel,
                              ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kDirect);

}  // namespace smelt::kernels::te

// A dot or convolution as the matrix product that it amounts to, for cost and tiles: C[batch][m][n] += A[m][k] B[k][n].
#pragma once

#include <cstdint>

#include "hlo/instruction.h"

namespace smelt::kernels::cost {

struct ContractionShape {
  double batch = 1;  // independent products: batch dimensions, groups of a convolution
  double m = 1;      // rows that share a column panel: the left operand's free dimensions, output pixels
  double n = 1;      // columns that vectors run over: the right operand's free dimensions, output features
  double k = 1;      // products summed for one element
  double flops() const { return 2 * batch * m * n * k; }
};

// The shape of a dot or convolution. Taps of a transposed convolution that meet only zeros are not counted.
ContractionShape ShapeOfContraction(const hlo::Instruction& instruction);

}  // namespace smelt::kernels::cost

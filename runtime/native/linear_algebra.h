// Cholesky factors and triangular systems of real matrices.
#pragma once

#include <memory>

#include "runtime/native_operation.h"

namespace smelt::runtime::native {

struct CholeskyPlan {
  bool f64 = false;  // else f32
  int64_t batch = 1, size = 1;
  bool lower = true;
};

// inputs: matrices, of which one triangle is read; outputs: L with L L^T, or U with U^T U, zero elsewhere; NaN where
// the matrix is not positive definite. Rounds as the textbook's column by column does, sums of products first and then
// subtracted: which nearly singular matrices have a factor depends on it.
std::unique_ptr<NativeOperation> MakeCholesky(const CholeskyPlan& plan);

struct TriangularSolvePlan {
  bool f64 = false;
  int64_t batch = 1, size = 1;
  int64_t vectors = 1;    // right-hand sides
  bool left_side = true;  // op(a) x = b, b of size x vectors; else x op(a) = b, b of vectors x size
  bool lower = true;      // of a as it is stored
  bool transpose = false;
  bool unit_diagonal = false;
};

// inputs: a, b; outputs: x. Computed in double precision.
std::unique_ptr<NativeOperation> MakeTriangularSolve(const TriangularSolvePlan& plan);

}  // namespace smelt::runtime::native

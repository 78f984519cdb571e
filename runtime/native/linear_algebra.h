// Factors of real matrices, and triangular systems.
#pragma once

#include <memory>

#include "runtime/native_operation.h"

namespace smelt::runtime::native {

struct CholeskyPlan {
  bool f64 = false;  // else f32
  int64_t batch = 1, size = 1;
  bool lower = true;
  bool tells = false;  // LAPACK's way: the other triangle stays as it is, and a second output tells what failed
};

// inputs: matrices, of which one triangle is read; outputs: L with L L^T, or U with U^T U, zero elsewhere; NaN where
// the matrix is not positive definite. `tells`: int32, 0 or the number, from 1, of the first minor that is not. Rounds
// as the textbook's column by column does, sums of products first and then subtracted: which nearly singular matrices
// have a factor depends on it.
std::unique_ptr<NativeOperation> MakeCholesky(const CholeskyPlan& plan);

struct LuPlan {
  bool f64 = false;
  int64_t batch = 1, rows = 1, columns = 1;
  int64_t Steps() const { return rows < columns ? rows : columns; }
};

// inputs: matrices; outputs: L, without its diagonal of ones, and U in one matrix, of the matrix with its rows changed;
// int32, of each step the number, from 1, of the row that its own changed places with; int32, 0 or the number, from 1,
// of the first pivot that is zero. LAPACK's getrf: the largest pivot of a column, the first of equal ones.
std::unique_ptr<NativeOperation> MakeLu(const LuPlan& plan);

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

// Each routine for one type of number: reads the job's operands, writes its results, a matrix at a time.
#pragma once

#include "absl/status/status.h"
#include "hlo/evaluator/lapack/job.h"

namespace smelt::hlo::lapack {

// factorisations.cc. S, D, C, Z in front of LAPACK's names are T.
template <typename T>
absl::Status Potrf(LapackJob& job);  // a -> l or u, info
template <typename T>
absl::Status Getrf(LapackJob& job);  // a -> lu, pivots from 1, info
template <typename T>
absl::Status Geqrf(LapackJob& job);  // a -> r and reflections, their factors
template <typename T>
absl::Status Geqp3(LapackJob& job);  // a, pivots -> r and reflections, pivots, factors
template <typename T>
absl::Status Orgqr(LapackJob& job);  // reflections, their factors -> q
template <typename T>
absl::Status Ormqr(LapackJob& job);  // reflections, their factors, c -> q c or c q
template <typename T>
absl::Status Trsm(LapackJob& job);  // triangular a, b -> x
template <typename T>
absl::Status Gehrd(LapackJob& job);  // a -> Hessenberg form and reflections, their factors, info
template <typename T>
absl::Status Sytrd(LapackJob& job);  // a -> tridiagonal form and reflections, diagonals, factors, info
template <typename T>
absl::Status Gtsv(LapackJob& job);  // diagonals, b -> diagonals, x, info

// eigen.cc
template <typename T>
absl::Status Syevd(LapackJob& job);  // a -> vectors, values, info
template <typename T>
absl::Status Gesdd(LapackJob& job);  // a -> a, singular values, u, v^T, info
template <typename T>
absl::Status Gesvd(LapackJob& job);  // the same by QR iterations
template <typename T>
absl::Status Geev(LapackJob& job);  // a -> values (two arrays for real a), left and right vectors, info
template <typename T>
absl::Status Gees(LapackJob& job);  // a -> Schur form, vectors, values, how many were selected, info

}  // namespace smelt::hlo::lapack

// Linear least squares of a few unknowns, in closed form: with coefficients that are not negative, and with a prior.
//
//   std::vector<double> a = NonNegativeLeastSquares({{1, 0}, {0, 1}}, {2, -1}).value();   // 2, 0
//
// Both take rows of inputs and one target a row.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace smelt::gnn {

using Equations = std::vector<std::vector<double>>;

// The x of least sum of (rows . x - targets)^2 with every x at least 0: exact, since each set of coefficients that are
// not 0 is tried. InvalidArgument: no rows, rows of different widths, or more than 8 unknowns.
absl::StatusOr<std::vector<double>> NonNegativeLeastSquares(const Equations& rows, const std::vector<double>& targets);

// A Gaussian over the coefficients of a linear model, and the noise of its targets (Bishop, Pattern Recognition and
// Machine Learning, Section 3.3).
struct LinearPosterior {
  std::vector<double> mean;
  std::vector<double> root;  // lower triangular L, row-major, with covariance (L L^T)^-1 times `noise`
  double noise = 0;          // variance of a target about the model

  double Mean(const double* row) const;
  // The variance of a new target: the noise, and what is not known of the coefficients.
  double Variance(const double* row) const;
};

struct PriorOptions {
  std::vector<double> mean;       // of the coefficients
  std::vector<double> deviation;  // of each, up to one common factor; 0: the coefficient stays at its mean
};

// The posterior under the factor of the prior's deviations that predicts each target best from all others (leave one
// out, closed form), with rows that lie far off weighing less (Huber). The noise is such that nine of ten targets, each
// predicted from the others, lie within 1.645 standard deviations. `error`, where given, receives the mean absolute
// difference of targets and such predictions. InvalidArgument: no rows, or widths that differ.
absl::StatusOr<LinearPosterior> FitLinear(const Equations& rows, const std::vector<double>& targets,
                                          const PriorOptions& prior, double* error = nullptr);

}  // namespace smelt::gnn

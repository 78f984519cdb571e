#include "gnn/calibration/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace smelt::gnn {
namespace {

// A symmetric positive definite matrix as L L^T, in place; false where it is none.
bool Cholesky(std::vector<double>* matrix, size_t n) {
  std::vector<double>& a = *matrix;
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[j * n + j] = std::sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
    for (size_t k = j + 1; k < n; ++k) a[j * n + k] = 0;
  }
  return true;
}

// x <- L^-1 x
void SolveLower(const std::vector<double>& root, size_t n, double* x) {
  for (size_t i = 0; i < n; ++i) {
    double sum = x[i];
    for (size_t k = 0; k < i; ++k) sum -= root[i * n + k] * x[k];
    x[i] = sum / root[i * n + i];
  }
}
// x <- L^-T x
void SolveUpper(const std::vector<double>& root, size_t n, double* x) {
  for (size_t i = n; i-- > 0;) {
    double sum = x[i];
    for (size_t k = i + 1; k < n; ++k) sum -= root[k * n + i] * x[k];
    x[i] = sum / root[i * n + i];
  }
}

double Dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

absl::Status CheckRows(const Equations& rows, const std::vector<double>& targets, size_t width) {
  if (rows.empty() || rows.size() != targets.size()) {
    return absl::InvalidArgumentError(absl::StrCat(rows.size(), " rows and ", targets.size(),
                                                   " targets: expected as many of both, and at least one"));
  }
  for (const std::vector<double>& row : rows) {
    if (row.size() != width)
      return absl::InvalidArgumentError(absl::StrCat("a row of ", row.size(), " values, expected ", width));
  }
  return absl::OkStatus();
}

double Quantile(std::vector<double> values, double share) {
  const size_t at = std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(at), values.end());
  return values[at];
}

// One fit with given weights of the rows and one factor of the prior.
struct Fit {
  std::vector<double> change;    // of the coefficients, against the prior's mean
  std::vector<double> root;      // of the weighted normal matrix
  std::vector<double> left_out;  // target minus its prediction from the others
  std::vector<double> leverage;  // of each row, without its own weight
};

std::vector<double> NormalMatrix(const Equations& rows, const std::vector<double>& weights) {
  const size_t d = rows[0].size();
  std::vector<double> matrix(d * d, 0);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < d; ++i) {
      const double scaled = weights[r] * rows[r][i];
      if (scaled == 0) continue;
      for (size_t j = 0; j <= i; ++j) matrix[i * d + j] += scaled * rows[r][j];
    }
  }
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j < i; ++j) matrix[j * d + i] = matrix[i * d + j];
  }
  return matrix;
}

Fit Solve(const Equations& rows, const std::vector<double>& residuals, const std::vector<double>& weights,
          const std::vector<double>& normal, const std::vector<double>& deviation, double factor) {
  const size_t d = deviation.size();
  Fit fit;
  fit.root = normal;
  constexpr double kFixed = 1e12;  // precision of a coefficient that stays
  for (size_t i = 0; i < d; ++i) {
    const double spread = factor * deviation[i];
    fit.root[i * d + i] += spread > 0 ? 1 / (spread * spread) : kFixed;
  }
  Cholesky(&fit.root, d);  // the prior makes it positive definite
  fit.change.assign(d, 0);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < d; ++i) fit.change[i] += weights[r] * rows[r][i] * residuals[r];
  }
  SolveLower(fit.root, d, fit.change.data());
  SolveUpper(fit.root, d, fit.change.data());
  std::vector<double> solved(d);
  for (size_t r = 0; r < rows.size(); ++r) {
    solved = rows[r];
    SolveLower(fit.root, d, solved.data());
    const double leverage = Dot(solved.data(), solved.data(), d);
    const double own = std::min(weights[r] * leverage, 1 - 1e-9);
    fit.left_out.push_back((residuals[r] - Dot(rows[r].data(), fit.change.data(), d)) / (1 - own));
    fit.leverage.push_back(leverage / (1 - own));
  }
  return fit;
}

double MeanAbsolute(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::fabs(value);
  return sum / static_cast<double>(values.size());
}

}  // namespace

absl::StatusOr<std::vector<double>> NonNegativeLeastSquares(const Equations& rows, const std::vector<double>& targets) {
  constexpr size_t kMostUnknowns = 8;
  const size_t d = rows.empty() ? 0 : rows[0].size();
  if (const absl::Status status = CheckRows(rows, targets, d); !status.ok()) return status;
  if (d == 0 || d > kMostUnknowns)
    return absl::InvalidArgumentError(absl::StrCat(d, " unknowns, expected 1 to ", kMostUnknowns));
  std::vector<double> best(d, 0);
  double least = Dot(targets.data(), targets.data(), targets.size());  // of all coefficients zero
  for (unsigned set = 1; set < (1u << d); ++set) {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < d; ++i) {
      if ((set >> i & 1) != 0) chosen.push_back(i);
    }
    const size_t n = chosen.size();
    std::vector<double> matrix(n * n, 0), x(n, 0);
    for (size_t r = 0; r < rows.size(); ++r) {
      for (size_t i = 0; i < n; ++i) {
        x[i] += rows[r][chosen[i]] * targets[r];
        for (size_t j = 0; j < n; ++j) matrix[i * n + j] += rows[r][chosen[i]] * rows[r][chosen[j]];
      }
    }
    if (!Cholesky(&matrix, n)) continue;  // two of them say the same: one alone is another set
    SolveLower(matrix, n, x.data());
    SolveUpper(matrix, n, x.data());
    if (std::any_of(x.begin(), x.end(), [](double value) { return !(value >= 0); })) continue;
    double error = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      double sum = -targets[r];
      for (size_t i = 0; i < n; ++i) sum += rows[r][chosen[i]] * x[i];
      error += sum * sum;
    }
    if (error >= least) continue;
    least = error;
    std::fill(best.begin(), best.end(), 0.0);
    for (size_t i = 0; i < n; ++i) best[chosen[i]] = x[i];
  }
  return best;
}

double LinearPosterior::Mean(const double* row) const { return Dot(row, mean.data(), mean.size()); }

double LinearPosterior::Variance(const double* row) const {
  std::vector<double> solved(row, row + mean.size());
  SolveLower(root, mean.size(), solved.data());
  return noise * (1 + Dot(solved.data(), solved.data(), solved.size()));
}

absl::StatusOr<LinearPosterior> FitLinear(const Equations& rows, const std::vector<double>& targets,
                                          const PriorOptions& prior, double* error) {
  const size_t d = prior.mean.size();
  if (const absl::Status status = CheckRows(rows, targets, d); !status.ok()) return status;
  if (prior.deviation.size() != d)
    return absl::InvalidArgumentError(absl::StrCat(prior.deviation.size(), " deviations of ", d, " coefficients"));
  std::vector<double> residuals;
  for (size_t r = 0; r < rows.size(); ++r) residuals.push_back(targets[r] - Dot(rows[r].data(), prior.mean.data(), d));
  constexpr double kFactors[] = {0.01, 0.03, 0.1, 0.3, 1, 3, 10};
  constexpr int kRounds = 3;
  std::vector<double> weights(rows.size(), 1);
  Fit best;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> normal = NormalMatrix(rows, weights);
    double least = std::numeric_limits<double>::infinity();
    for (const double factor : kFactors) {
      Fit fit = Solve(rows, residuals, weights, normal, prior.deviation, factor);
      const double mean = MeanAbsolute(fit.left_out);
      if (mean >= least) continue;
      least = mean;
      best = std::move(fit);
    }
    // Huber's weights, at 1.5 robust deviations.
    std::vector<double> magnitudes;
    for (const double left_out : best.left_out) magnitudes.push_back(std::fabs(left_out));
    const double far = 1.5 * 1.4826 * std::max(Quantile(magnitudes, 0.5), 1e-6);
    if (round + 1 == kRounds) break;
    for (size_t r = 0; r < rows.size(); ++r) weights[r] = magnitudes[r] > far ? far / magnitudes[r] : 1;
  }
  LinearPosterior posterior;
  posterior.mean = prior.mean;
  for (size_t i = 0; i < d; ++i) posterior.mean[i] += best.change[i];
  posterior.root = std::move(best.root);
  std::vector<double> scaled;
  for (size_t r = 0; r < rows.size(); ++r)
    scaled.push_back(std::fabs(best.left_out[r]) / std::sqrt(1 + best.leverage[r]));
  const double deviation = std::max(Quantile(std::move(scaled), 0.9) / 1.645, 1e-4);
  posterior.noise = deviation * deviation;
  if (error != nullptr) *error = MeanAbsolute(best.left_out);
  return posterior;
}

}  // namespace smelt::gnn

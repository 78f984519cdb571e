// The custom calls that have a meaning of their own: annotations, the matrix factorisations that XLA expands itself,
// and those that JAX hands to LAPACK on a CPU (lapack/).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/lapack/lapack.h"
#include "hlo/status_macros.h"

namespace smelt::hlo {
namespace {

// Values pass through them unchanged.
constexpr const char* kAnnotations[] = {"Sharding",
                                        "SPMDFullToShardShape",
                                        "SPMDShardToFullShape",
                                        "MoveToHost",
                                        "MoveToDevice",
                                        "annotate_device_placement",
                                        "Pin",
                                        "Unpin",
                                        "LayoutConstraint",
                                        "GlobalToLocal",
                                        "LocalToGlobal"};

std::vector<double> ReadMatrix(const Literal& literal, int64_t base, int64_t count) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = literal.GetDouble(base + i);
  return values;
}
void WriteMatrix(const std::vector<double>& values, int64_t base, Literal* literal) {
  for (size_t i = 0; i < values.size(); ++i) literal->SetDouble(base + static_cast<int64_t>(i), values[i]);
}

// Householder's reflections below the diagonal, R on and above it, as LAPACK's geqrf packs them.
void FactorQr(std::vector<double>* a, int64_t rows, int64_t columns, std::vector<double>* taus) {
  auto at = [&](int64_t i, int64_t j) -> double& { return (*a)[i * columns + j]; };
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    double below = 0;
    for (int64_t i = k + 1; i < rows; ++i) below += at(i, k) * at(i, k);
    if (below == 0) {
      (*taus)[k] = 0;
      continue;
    }
    const double alpha = at(k, k);
    const double beta = alpha >= 0 ? -std::sqrt(alpha * alpha + below) : std::sqrt(alpha * alpha + below);
    const double tau = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < rows; ++i) at(i, k) /= alpha - beta;
    at(k, k) = beta;
    (*taus)[k] = tau;
    for (int64_t j = k + 1; j < columns; ++j) {
      double sum = at(k, j);
      for (int64_t i = k + 1; i < rows; ++i) sum += at(i, k) * at(i, j);
      at(k, j) -= tau * sum;
      for (int64_t i = k + 1; i < rows; ++i) at(i, j) -= tau * sum * at(i, k);
    }
  }
}

// The first columns of H1 H2 ... Hk.
std::vector<double> HouseholderProduct(const std::vector<double>& a, int64_t rows, int64_t columns,
                                       const std::vector<double>& taus) {
  std::vector<double> q(a.size(), 0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i) q[i * columns + i] = 1;
  for (int64_t k = static_cast<int64_t>(taus.size()); k-- > 0;) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = q[k * columns + j];
      for (int64_t i = k + 1; i < rows; ++i) sum += a[i * columns + k] * q[i * columns + j];
      q[k * columns + j] -= taus[k] * sum;
      for (int64_t i = k + 1; i < rows; ++i) q[i * columns + j] -= taus[k] * sum * a[i * columns + k];
    }
  }
  return q;
}

// Eigenvectors (columns) and eigenvalues of a symmetric matrix by Jacobi's rotations, eigenvalues ascending.
void Eigen(std::vector<double> a, int64_t n, std::vector<double>* vectors, std::vector<double>* values) {
  std::vector<double> v(n * n, 0);
  for (int64_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (int sweep = 0; sweep < 100; ++sweep) {
    double off = 0, total = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) (i == j ? total : off) += a[i * n + j] * a[i * n + j];
    }
    if (!(off > 1e-30 * total)) break;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int64_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const double x = v[k * n + p], y = v[k * n + q];
          v[k * n + p] = c * x - s * y;
          v[k * n + q] = s * x + c * y;
        }
      }
    }
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return a[x * n + x] < a[y * n + y]; });
  vectors->resize(n * n);
  values->resize(n);
  for (int64_t j = 0; j < n; ++j) {
    (*values)[j] = a[order[j] * n + order[j]];
    for (int64_t i = 0; i < n; ++i) (*vectors)[i * n + j] = v[i * n + order[j]];
  }
}

absl::StatusOr<std::vector<std::shared_ptr<Literal>>> NewResults(const Call& call, size_t count) {
  std::vector<const Shape*> leaves;
  call.shape().AppendLeaves(&leaves);
  if (leaves.size() != count) return absl::UnimplementedError(absl::StrCat("a result of ", call.shape().ToString()));
  std::vector<std::shared_ptr<Literal>> results;
  for (const Shape* leaf : leaves) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(*leaf));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<Value> EvaluateQr(const Call& call) {
  const Literal& a = call.operand(0).array();
  const int64_t rows = a.shape().dimensions[a.shape().rank() - 2], columns = a.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 2));
  const int64_t reflections = std::min(rows, columns);
  const int64_t matrices = rows * columns == 0 ? 0 : a.element_count() / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<double> matrix = ReadMatrix(a, m * rows * columns, rows * columns), taus(reflections, 0);
    FactorQr(&matrix, rows, columns, &taus);
    WriteMatrix(matrix, m * rows * columns, results[0].get());
    WriteMatrix(taus, m * reflections, results[1].get());
  }
  return Value(std::vector<Value>{Value(std::move(results[0])), Value(std::move(results[1]))});
}

absl::StatusOr<Value> EvaluateHouseholderProduct(const Call& call) {
  const Literal &a = call.operand(0).array(), &taus = call.operand(1).array();
  const int64_t rows = a.shape().dimensions[a.shape().rank() - 2], columns = a.shape().dimensions.back(),
                count = taus.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 1));
  const int64_t matrices = rows * columns == 0 ? 0 : a.element_count() / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    WriteMatrix(HouseholderProduct(ReadMatrix(a, m * rows * columns, rows * columns), rows, columns,
                                   ReadMatrix(taus, m * count, count)),
                m * rows * columns, results[0].get());
  }
  return Value(std::move(results[0]));
}

// Reads the lower triangle alone, as XLA's expansion does by default.
absl::StatusOr<Value> EvaluateEigh(const Call& call) {
  const Literal& a = call.operand(0).array();
  const int64_t n = a.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 2));
  const int64_t matrices = n == 0 ? 0 : a.element_count() / (n * n);
  for (int64_t m = 0; m < matrices; ++m) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    std::vector<double> matrix = ReadMatrix(a, m * n * n, n * n), vectors, values;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) matrix[i * n + j] = matrix[j * n + i];
    }
    Eigen(std::move(matrix), n, &vectors, &values);
    WriteMatrix(vectors, m * n * n, results[0].get());
    WriteMatrix(values, m * n, results[1].get());
  }
  return Value(std::vector<Value>{Value(std::move(results[0])), Value(std::move(results[1]))});
}

struct CustomHandler {
  const char* target;
  int64_t operands;
  Handler handler;
};
constexpr CustomHandler kHandlers[] = {
    {"Qr", 1, &EvaluateQr},
    {"ProductOfElementaryHouseholderReflectors", 2, &EvaluateHouseholderProduct},
    {"Eigh", 1, &EvaluateEigh},
};

}  // namespace

absl::StatusOr<Value> EvaluateCustomCall(const Call& call) {
  const std::string& target = call.instruction.attributes<CustomCallAttributes>().target;
  for (const char* annotation : kAnnotations) {
    if (target == annotation && call.operands.size() == 1 && call.operand(0).IsArray() &&
        call.operand(0).shape().SameAs(call.shape())) {
      return std::move(call.operand(0));
    }
  }
  if (IsLapackTarget(target)) return EvaluateLapack(call);
  for (const CustomHandler& entry : kHandlers) {
    if (target != entry.target || static_cast<int64_t>(call.operands.size()) != entry.operands) continue;
    for (const Value& operand : call.operands) {
      if (!operand.IsArray() || !IsFloat(operand.shape().element_type))
        return absl::UnimplementedError(absl::StrCat("custom call ", target, " on complex numbers"));
    }
    const int64_t least_rank = 2;
    if (call.operand(0).shape().rank() < least_rank)
      return absl::InvalidArgumentError(
          absl::StrCat("custom call ", target, " on ", call.operand(0).shape().ToString()));
    return entry.handler(call);
  }
  return absl::UnimplementedError(absl::StrCat("the evaluator does not know the custom call ", target));
}

}  // namespace smelt::hlo

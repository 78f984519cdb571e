// Cholesky factors in the element's own precision and in the order of XLA's expansion, since which nearly singular
// matrices have a factor depends on the rounding; triangular systems in double precision.
#include <cmath>
#include <complex>
#include <limits>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {
namespace {

using Complex = std::complex<double>;

// The element as a number of type T: float, double or a complex number of either.
template <typename T>
T Get(const Literal& literal, int64_t index) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(literal.GetDouble(index));
  } else {
    return T(literal.GetComplex(index));
  }
}
template <typename T>
void Set(Literal* literal, int64_t index, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    literal->SetDouble(index, value);
  } else {
    literal->SetComplex(index, Complex(value));
  }
}
template <typename T>
T Conjugate(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return std::conj(value);
  }
}
template <typename T>
auto RealPart(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return value.real();
  }
}

// L with L L^H = a from the lower triangle (upper: U^H U from the upper one). A matrix that is not positive definite
// gives NaN.
template <typename T>
void CholeskyMatrix(const Literal& a, int64_t base, int64_t n, bool lower, Literal* result) {
  auto at = [&](int64_t row, int64_t column) { return lower ? base + row * n + column : base + column * n + row; };
  auto element = [&](int64_t row, int64_t column) {
    const T value = Get<T>(a, at(row, column));
    return lower ? value : Conjugate(value);
  };
  std::vector<T> l(static_cast<size_t>(n * n), T(0));
  bool failed = false;
  for (int64_t j = 0; j < n; ++j) {
    // Products are summed first and then subtracted, as XLA's expansion does.
    auto squares = RealPart(T(0));
    for (int64_t k = 0; k < j; ++k) squares += RealPart(l[j * n + k] * Conjugate(l[j * n + k]));
    const auto diagonal = RealPart(element(j, j)) - squares;
    if (!(diagonal > 0)) failed = true;
    const auto root = std::sqrt(diagonal);
    l[j * n + j] = root;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum(0);
      for (int64_t k = 0; k < j; ++k) sum += l[i * n + k] * Conjugate(l[j * n + k]);
      l[i * n + j] = (element(i, j) - sum) / root;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T value = failed ? T(std::numeric_limits<float>::quiet_NaN()) : l[i * n + j];
      if (j > i) value = T(0);
      Set(result, at(i, j), lower ? value : Conjugate(value));
    }
  }
}

template <typename T>
void SolveMatrix(const Literal& a, int64_t a_base, int64_t n, const Literal& b, int64_t b_base, int64_t rows,
                 int64_t columns, const TriangularSolveAttributes& attributes, Literal* result) {
  // Brought to op(a) x = b for one vector at a time; x a = b is a^T x^T = b^T.
  bool transpose = attributes.transpose_a != TriangularTranspose::kNoTranspose;
  const bool conjugate = attributes.transpose_a == TriangularTranspose::kAdjoint;
  if (!attributes.left_side) transpose = !transpose;
  const bool lower = attributes.lower != transpose;
  auto element = [&](int64_t row, int64_t column) {
    const T value = Get<T>(a, a_base + (transpose ? column * n + row : row * n + column));
    return conjugate ? Conjugate(value) : value;
  };
  std::vector<T> matrix(static_cast<size_t>(n * n), T(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = lower ? 0 : i; j < (lower ? i + 1 : n); ++j) matrix[i * n + j] = element(i, j);
  }
  const int64_t vectors = attributes.left_side ? columns : rows;
  std::vector<T> x(n);
  for (int64_t v = 0; v < vectors; ++v) {
    auto at = [&](int64_t i) { return b_base + (attributes.left_side ? i * columns + v : v * columns + i); };
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = lower ? step : n - 1 - step;
      T sum = Get<T>(b, at(i));
      for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) sum -= matrix[i * n + j] * x[j];
      x[i] = attributes.unit_diagonal ? sum : sum / matrix[i * n + i];
    }
    for (int64_t i = 0; i < n; ++i) Set(result, at(i), x[i]);
  }
}

}  // namespace

absl::StatusOr<Value> EvaluateCholesky(const Call& call) {
  const Literal& a = call.operand(0).array();
  const int64_t n = a.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(call.shape()));
  const int64_t matrices = n == 0 ? 0 : a.element_count() / (n * n);
  const bool lower = call.instruction.attributes<CholeskyAttributes>().lower;
  for (int64_t m = 0; m < matrices; ++m) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    switch (a.shape().element_type) {
      case PrimitiveType::kF64:
        CholeskyMatrix<double>(a, m * n * n, n, lower, result.get());
        break;
      case PrimitiveType::kC64:
        CholeskyMatrix<std::complex<float>>(a, m * n * n, n, lower, result.get());
        break;
      case PrimitiveType::kC128:
        CholeskyMatrix<Complex>(a, m * n * n, n, lower, result.get());
        break;
      default:
        CholeskyMatrix<float>(a, m * n * n, n, lower, result.get());
    }
  }
  return Value(std::move(result));
}

absl::StatusOr<Value> EvaluateTriangularSolve(const Call& call) {
  const auto& attributes = call.instruction.attributes<TriangularSolveAttributes>();
  const Literal& a = call.operand(0).array();
  const Literal& b = call.operand(1).array();
  const int64_t n = a.shape().dimensions.back();
  const int64_t columns = b.shape().dimensions.back(), rows = b.shape().dimensions[b.shape().rank() - 2];
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(call.shape()));
  const int64_t matrices = n == 0 ? 0 : a.element_count() / (n * n);
  for (int64_t m = 0; m < matrices; ++m) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    if (IsComplex(a.shape().element_type)) {
      SolveMatrix<Complex>(a, m * n * n, n, b, m * rows * columns, rows, columns, attributes, result.get());
    } else {
      SolveMatrix<double>(a, m * n * n, n, b, m * rows * columns, rows, columns, attributes, result.get());
    }
  }
  return Value(std::move(result));
}

}  // namespace smelt::hlo

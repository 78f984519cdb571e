// The custom calls that have a meaning of their own: annotations, the matrix factorisations that XLA expands itself,
// and those that JAX hands to LAPACK on a CPU (lapack/).
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/lapack/lapack.h"

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

// The factorisations below work on T, double or std::complex<double>, whatever the precision of the arrays.
using Complex = std::complex<double>;

template <typename T>
std::vector<T> ReadMatrix(const Literal& literal, int64_t base, int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, double>) values[i] = literal.GetDouble(base + i);
    if constexpr (std::is_same_v<T, Complex>) values[i] = literal.GetComplex(base + i);
  }
  return values;
}
template <typename T>
void WriteMatrix(const std::vector<T>& values, int64_t base, Literal* literal) {
  for (size_t i = 0; i < values.size(); ++i) literal->SetComplex(base + static_cast<int64_t>(i), values[i]);
}

double Conjugate(double x) { return x; }
Complex Conjugate(const Complex& x) { return std::conj(x); }

// Householder's reflections I - tau v v^H below the diagonal, R on and above it, as LAPACK's geqrf packs them.
template <typename T>
void FactorQr(std::vector<T>* a, int64_t rows, int64_t columns, std::vector<T>* taus) {
  auto at = [&](int64_t i, int64_t j) -> T& { return (*a)[i * columns + j]; };
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    double below = 0;
    for (int64_t i = k + 1; i < rows; ++i) below += std::norm(at(i, k));
    const T alpha = at(k, k);
    if (below == 0 && std::imag(alpha) == 0) {
      (*taus)[k] = 0;
      continue;
    }
    const double length = std::sqrt(std::norm(alpha) + below), beta = std::real(alpha) >= 0 ? -length : length;
    const T tau = (beta - alpha) / beta;
    for (int64_t i = k + 1; i < rows; ++i) at(i, k) /= alpha - beta;
    at(k, k) = beta;
    (*taus)[k] = tau;
    for (int64_t j = k + 1; j < columns; ++j) {
      T sum = at(k, j);
      for (int64_t i = k + 1; i < rows; ++i) sum += Conjugate(at(i, k)) * at(i, j);
      sum *= Conjugate(tau);
      at(k, j) -= sum;
      for (int64_t i = k + 1; i < rows; ++i) at(i, j) -= sum * at(i, k);
    }
  }
}

// The first columns of H1 H2 ... Hk.
template <typename T>
std::vector<T> HouseholderProduct(const std::vector<T>& a, int64_t rows, int64_t columns, const std::vector<T>& taus) {
  std::vector<T> q(a.size(), 0);
  for (int64_t i = 0; i < std::min(rows, columns); ++i) q[i * columns + i] = 1;
  for (int64_t k = static_cast<int64_t>(taus.size()); k-- > 0;) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum = q[k * columns + j];
      for (int64_t i = k + 1; i < rows; ++i) sum += Conjugate(a[i * columns + k]) * q[i * columns + j];
      q[k * columns + j] -= taus[k] * sum;
      for (int64_t i = k + 1; i < rows; ++i) q[i * columns + j] -= taus[k] * sum * a[i * columns + k];
    }
  }
  return q;
}

// Eigenvectors (columns) and eigenvalues of a symmetric or Hermitian matrix by Jacobi's rotations in the order of Brent
// and Luk's tournament (SIAM J. Sci. Stat. Comput. 6, 1985), as XLA's EighExpander has them: so vectors have its signs.
// Row i is rotated against row i + size / 2, all at once; then all rows but the first move on by one place.
template <typename T>
void Eigen(const std::vector<T>& matrix, int64_t n, bool sort, std::vector<T>* vectors, std::vector<double>* values) {
  const int64_t half = (n + 1) / 2, size = 2 * half;  // an odd size plays against a row of zeros
  std::vector<T> a(size * size, 0), v(size * size, 0), moved(size * size);
  for (int64_t i = 0; i < n; ++i) std::copy_n(&matrix[i * n], n, &a[i * size]);
  for (int64_t i = 0; i < size; ++i) v[i * size + i] = 1;
  std::vector<int64_t> from(size);  // where the row at a place comes from
  std::iota(from.begin(), from.end(), 0);
  if (half > 1) {
    from[1] = half;
    for (int64_t i = 2; i < half; ++i) from[i] = i - 1;
    for (int64_t i = half; i + 1 < size; ++i) from[i] = i + 1;
    from[size - 1] = half - 1;
  }
  std::vector<double> cosines(half);
  std::vector<T> sines(half);
  for (int sweep = 0; sweep < 100; ++sweep) {
    double off = 0, total = 0;
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) (i == j ? total : off) += std::norm(a[i * size + j]);
    }
    if (!(off > 1e-30 * total)) break;
    for (int64_t turn = 0; turn + 1 < size; ++turn) {
      for (int64_t i = 0; i < half; ++i) {
        const T& corner = a[i * size + i + half];
        const double length = std::abs(corner),
                     gap = std::real(a[(i + half) * (size + 1)]) - std::real(a[i * (size + 1)]);
        const double tau = gap / (2 * length);
        const double t = length == 0 ? 0 : (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        cosines[i] = 1 / std::sqrt(1 + t * t);
        sines[i] = length == 0 ? T(0) : t * cosines[i] * corner / length;
      }
      const auto rotate = [](T& x, T& y, double cosine, const T& sine) {
        const T old = x;
        x = cosine * old - sine * y;
        y = Conjugate(sine) * old + cosine * y;
      };
      for (int64_t i = 0; i < half; ++i) {
        for (int64_t k = 0; k < size; ++k) {
          rotate(a[i * size + k], a[(i + half) * size + k], cosines[i], sines[i]);
          rotate(v[i * size + k], v[(i + half) * size + k], cosines[i], sines[i]);
        }
      }
      for (int64_t k = 0; k < size; ++k) {
        for (int64_t i = 0; i < half; ++i) {
          rotate(a[k * size + i], a[k * size + i + half], cosines[i], Conjugate(sines[i]));
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t j = 0; j < size; ++j) moved[i * size + j] = a[from[i] * size + from[j]];
      }
      a.swap(moved);
      for (int64_t i = 0; i < size; ++i) std::copy_n(&v[from[i] * size], size, &moved[i * size]);
      v.swap(moved);
    }
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int64_t i) { return std::real(a[i * size + i]); };
  if (sort) std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return value(x) < value(y); });
  vectors->resize(n * n);
  values->resize(n);
  for (int64_t j = 0; j < n; ++j) {
    (*values)[j] = value(order[j]);
    for (int64_t i = 0; i < n; ++i) (*vectors)[i * n + j] = Conjugate(v[order[j] * size + i]);
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

template <typename T>
absl::StatusOr<Value> EvaluateQr(const Call& call) {
  const Literal& a = call.operand(0).array();
  const int64_t rows = a.shape().dimensions[a.shape().rank() - 2], columns = a.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 2));
  const int64_t reflections = std::min(rows, columns);
  const int64_t matrices = rows * columns == 0 ? 0 : a.element_count() / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<T> matrix = ReadMatrix<T>(a, m * rows * columns, rows * columns), taus(reflections, 0);
    FactorQr(&matrix, rows, columns, &taus);
    WriteMatrix(matrix, m * rows * columns, results[0].get());
    WriteMatrix(taus, m * reflections, results[1].get());
  }
  return Value(std::vector<Value>{Value(std::move(results[0])), Value(std::move(results[1]))});
}

template <typename T>
absl::StatusOr<Value> EvaluateHouseholderProduct(const Call& call) {
  const Literal &a = call.operand(0).array(), &taus = call.operand(1).array();
  const int64_t rows = a.shape().dimensions[a.shape().rank() - 2], columns = a.shape().dimensions.back(),
                count = taus.shape().dimensions.back();
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 1));
  const int64_t matrices = rows * columns == 0 ? 0 : a.element_count() / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    WriteMatrix(HouseholderProduct(ReadMatrix<T>(a, m * rows * columns, rows * columns), rows, columns,
                                   ReadMatrix<T>(taus, m * count, count)),
                m * rows * columns, results[0].get());
  }
  return Value(std::move(results[0]));
}

// Reads one triangle alone: backend_config="LOWER,SORT,ITERATIONS,TOLERANCE", of which the first two, 0 or 1, tell
// here.
template <typename T>
absl::StatusOr<Value> EvaluateEigh(const Call& call) {
  const Literal& a = call.operand(0).array();
  const int64_t n = a.shape().dimensions.back();
  bool lower = true, sort = true;
  for (const RawAttribute& attribute : call.instruction.raw_attributes()) {
    if (attribute.name != "backend_config") continue;
    const std::vector<absl::string_view> numbers = absl::StrSplit(absl::StripPrefix(attribute.value, "\""), ',');
    lower = numbers[0] != "0";
    sort = numbers.size() < 2 || numbers[1] != "0";
  }
  SMELT_ASSIGN_OR_RETURN(auto results, NewResults(call, 2));
  const int64_t matrices = n == 0 ? 0 : a.element_count() / (n * n);
  for (int64_t m = 0; m < matrices; ++m) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    std::vector<T> matrix = ReadMatrix<T>(a, m * n * n, n * n), vectors;
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
      matrix[i * n + i] = std::real(matrix[i * n + i]);
      for (int64_t j = i + 1; j < n; ++j) {
        T &above = matrix[i * n + j], &below = matrix[j * n + i];
        (lower ? above : below) = Conjugate(lower ? below : above);
      }
    }
    Eigen(matrix, n, sort, &vectors, &values);
    WriteMatrix(vectors, m * n * n, results[0].get());
    WriteMatrix(values, m * n, results[1].get());
  }
  return Value(std::vector<Value>{Value(std::move(results[0])), Value(std::move(results[1]))});
}

struct CustomHandler {
  const char* target;
  int64_t operands;
  Handler real, complex;
};
constexpr CustomHandler kHandlers[] = {
    {"Qr", 1, &EvaluateQr<double>, &EvaluateQr<Complex>},
    {"ProductOfElementaryHouseholderReflectors", 2, &EvaluateHouseholderProduct<double>,
     &EvaluateHouseholderProduct<Complex>},
    {"Eigh", 1, &EvaluateEigh<double>, &EvaluateEigh<Complex>},
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
  if (CallsLapack(call.instruction)) return EvaluateLapack(call);
  for (const CustomHandler& entry : kHandlers) {
    if (target != entry.target || static_cast<int64_t>(call.operands.size()) != entry.operands) continue;
    for (const Value& operand : call.operands) {
      if (operand.IsArray() && (IsFloat(operand.shape().element_type) || IsComplex(operand.shape().element_type))) {
        continue;
      }
      return absl::UnimplementedError(absl::StrCat("custom call ", target, " on what is neither real nor complex"));
    }
    const int64_t least_rank = 2;
    if (call.operand(0).shape().rank() < least_rank)
      return absl::InvalidArgumentError(
          absl::StrCat("custom call ", target, " on ", call.operand(0).shape().ToString()));
    return IsComplex(call.operand(0).shape().element_type) ? entry.complex(call) : entry.real(call);
  }
  return absl::UnimplementedError(absl::StrCat("the evaluator does not know the custom call ", target));
}

}  // namespace smelt::hlo

#include <cmath>
#include <limits>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/linear_algebra.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kColumnsAtOnce = 4;  // columns that are updated by all earlier ones at once

// `columns`: the lower triangle column by column, `pitch` apart, a multiple of a vector's lanes. Becomes the factor.
// Gives the number, from 1, of the first minor that is not positive definite; 0: all are.
template <typename T>
[[gnu::always_inline]] inline int32_t Factorise(T* columns, T* sums, int64_t n, int64_t pitch) {
  typedef T Lanes __attribute__((vector_size(64)));
  constexpr int64_t kLanes = 64 / sizeof(T);
  int32_t failed = 0;
  for (int64_t first = 0; first < n; first += kColumnsAtOnce) {
    const int64_t panel = n - first < kColumnsAtOnce ? n - first : kColumnsAtOnce;
    for (int64_t i = first / kLanes * kLanes; i < n; i += kLanes) {
      Lanes sum[kColumnsAtOnce] = {};
      for (int64_t k = 0; k < first; ++k) {
        const T* column = columns + k * pitch;
        const Lanes below = *reinterpret_cast<const Lanes*>(column + i);
        for (int64_t u = 0; u < kColumnsAtOnce; ++u) sum[u] += below * column[first + u];
      }
      for (int64_t u = 0; u < kColumnsAtOnce; ++u) *reinterpret_cast<Lanes*>(sums + u * pitch + i) = sum[u];
    }
    for (int64_t u = 0; u < panel; ++u) {
      const int64_t j = first + u;
      T* column = columns + j * pitch;
      T* sum = sums + u * pitch;
      for (int64_t t = 0; t < u; ++t) {
        const T* before = columns + (first + t) * pitch;
        const T factor = before[j];
#pragma GCC ivdep
        for (int64_t i = j; i < n; ++i) sum[i] += before[i] * factor;
      }
      const T diagonal = column[j] - sum[j];
      if (!(diagonal > 0) && failed == 0) failed = static_cast<int32_t>(j + 1);
      const T root = std::sqrt(diagonal);
      column[j] = root;
#pragma GCC ivdep
      for (int64_t i = j + 1; i < n; ++i) column[i] = (column[i] - sum[i]) / root;
    }
  }
  return failed;
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH int32_t FactoriseMatrix(float* columns, float* sums, int64_t n, int64_t pitch) {
  return Factorise(columns, sums, n, pitch);
}
SMELT_FOR_EACH_VECTOR_WIDTH int32_t FactoriseMatrix(double* columns, double* sums, int64_t n, int64_t pitch) {
  return Factorise(columns, sums, n, pitch);
}

namespace {

template <typename T>
class Cholesky : public NativeOperation {
 public:
  explicit Cholesky(const CholeskyPlan& plan)
      : plan_(plan), pitch_(AlignUp(plan.size * static_cast<int64_t>(sizeof(T))) / static_cast<int64_t>(sizeof(T))) {}

  int64_t ScratchBytes(int threads) const override { return threads * ThreadBytes(); }

  void Run(const NativeCall& call) const override {
    const double n = static_cast<double>(plan_.size);
    InParallel(*call.pool, plan_.batch, static_cast<double>(plan_.batch) * n * n * (4 + n / 24),
               [&](int worker, int64_t begin, int64_t end) {
                 T* columns = reinterpret_cast<T*>(call.scratch + worker * ThreadBytes());
                 for (int64_t m = begin; m < end; ++m) RunMatrix(call, m, columns);
               });
  }

 private:
  int64_t ThreadBytes() const {
    return AlignUp((plan_.size + kColumnsAtOnce) * pitch_ * static_cast<int64_t>(sizeof(T)) + 64);
  }

  void RunMatrix(const NativeCall& call, int64_t m, T* columns) const {
    const int64_t n = plan_.size;
    const T* a = static_cast<const T*>(call.inputs[0]) + m * n * n;
    T* result = static_cast<T*>(call.outputs[0]) + m * n * n;
    // Upper: the factor's transpose, of the transpose.
    const int64_t down = plan_.lower ? n : 1, across = plan_.lower ? 1 : n;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < j; ++i) columns[j * pitch_ + i] = 0;
      for (int64_t i = j; i < n; ++i) columns[j * pitch_ + i] = a[i * down + j * across];
      for (int64_t i = n; i < pitch_; ++i) columns[j * pitch_ + i] = 0;
    }
    const int32_t failed = FactoriseMatrix(columns, columns + n * pitch_, n, pitch_);
    const T none = std::numeric_limits<float>::quiet_NaN();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) result[i * down + j * across] = failed == 0 ? columns[j * pitch_ + i] : none;
      for (int64_t j = i + 1; j < n; ++j) {
        const int64_t other = i * down + j * across;
        result[other] = plan_.tells ? a[other] : 0;
      }
    }
    if (plan_.tells) static_cast<int32_t*>(call.outputs[1])[m] = failed;
  }

  const CholeskyPlan plan_;
  const int64_t pitch_;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeCholesky(const CholeskyPlan& plan) {
  if (plan.f64) return std::make_unique<Cholesky<double>>(plan);
  return std::make_unique<Cholesky<float>>(plan);
}

}  // namespace smelt::runtime::native

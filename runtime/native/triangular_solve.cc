#include <algorithm>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/linear_algebra.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

typedef double Lanes __attribute__((vector_size(64)));

constexpr int64_t kBeside = 16;  // vectors that are solved together
constexpr int64_t kFew = 3;      // up to which they are solved one by one
constexpr int64_t kRows = 4;

// One vector, column by column: `columns` has element (i, j) at j * n + i.
[[gnu::always_inline]] inline void SolveOne(const double* columns, int64_t n, bool lower, bool unit, double* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t j = lower ? step : n - 1 - step;
    const double* column = columns + j * n;
    if (!unit) x[j] /= column[j];
    const double value = x[j];
    const int64_t begin = lower ? j + 1 : 0, end = lower ? n : j;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) x[i] -= column[i] * value;
  }
}

// kBeside vectors beside each other, `rows` having element (i, j) at i * n + j: kRows rows take all that is known
// before, then each other.
[[gnu::always_inline]] inline void SolveBeside(const double* rows, int64_t n, bool lower, bool unit, Lanes* x) {
  constexpr int64_t kWords = kBeside / 8;
  for (int64_t done = 0; done < n; done += kRows) {
    const int64_t count = n - done < kRows ? n - done : kRows;
    const int64_t first = lower ? done : n - done - count;  // the block's first row
    const int64_t begin = lower ? 0 : first + count, end = lower ? first : n;
    Lanes sums[kRows][kWords];
    // The last, smaller block computes one row several times.
    const double* row[kRows];
    for (int64_t u = 0; u < kRows; ++u) {
      const int64_t i = first + (u < count ? u : count - 1);
      row[u] = rows + i * n;
      for (int64_t w = 0; w < kWords; ++w) sums[u][w] = x[i * kWords + w];
    }
    for (int64_t j = begin; j < end; ++j) {
      const Lanes x0 = x[j * kWords], x1 = x[j * kWords + 1];
      for (int64_t u = 0; u < kRows; ++u) {
        sums[u][0] -= x0 * row[u][j];
        sums[u][1] -= x1 * row[u][j];
      }
    }
    for (int64_t step = 0; step < count; ++step) {
      const int64_t u = lower ? step : count - 1 - step;
      const int64_t from = lower ? 0 : u + 1, to = lower ? u : count;
      for (int64_t w = 0; w < kWords; ++w) {
        Lanes sum = sums[u][w];
        for (int64_t t = from; t < to; ++t) sum -= x[(first + t) * kWords + w] * row[u][first + t];
        x[(first + u) * kWords + w] = unit ? sum : sum / row[u][first + u];
      }
    }
  }
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH void SolveTriangularVector(const double* columns, int64_t n, bool lower, bool unit,
                                                       double* x) {
  SolveOne(columns, n, lower, unit, x);
}
SMELT_FOR_EACH_VECTOR_WIDTH void SolveTriangularVectors(const double* rows, int64_t n, bool lower, bool unit,
                                                        double* x) {
  SolveBeside(rows, n, lower, unit, reinterpret_cast<Lanes*>(x));
}

namespace {

template <typename T>
class TriangularSolve : public NativeOperation {
 public:
  explicit TriangularSolve(const TriangularSolvePlan& plan)
      : plan_(plan),
        few_(plan.vectors <= kFew),
        // x a = b is a^T x^T = b^T.
        transpose_(plan.transpose == plan.left_side),
        lower_(plan.lower != transpose_) {}

  int64_t ScratchBytes(int threads) const override { return threads * ThreadBytes(); }

  void Run(const NativeCall& call) const override {
    const int64_t blocks = few_ ? 1 : (plan_.vectors + kBeside - 1) / kBeside;
    const double n = static_cast<double>(plan_.size);
    InParallel(*call.pool, plan_.batch * blocks,
               static_cast<double>(plan_.batch) * n * n * (1 + static_cast<double>(plan_.vectors) / 8),
               [&](int worker, int64_t begin, int64_t end) {
                 double* matrix = reinterpret_cast<double*>(call.scratch + worker * ThreadBytes());
                 int64_t loaded = -1;
                 for (int64_t i = begin; i < end; ++i) {
                   if (loaded != i / blocks) LoadMatrix(call, loaded = i / blocks, matrix);
                   double* x = matrix + AlignUp(plan_.size * plan_.size * 8) / 8;
                   if (few_) {
                     for (int64_t v = 0; v < plan_.vectors; ++v) RunBlock(call, loaded, v, 1, matrix, x);
                   } else {
                     const int64_t v = i % blocks * kBeside;
                     RunBlock(call, loaded, v, std::min(kBeside, plan_.vectors - v), matrix, x);
                   }
                 }
               });
  }

 private:
  int64_t ThreadBytes() const { return AlignUp(plan_.size * plan_.size * 8) + AlignUp(plan_.size * kBeside * 8); }

  // The matrix lies by columns for single vectors, by rows for several.
  void LoadMatrix(const NativeCall& call, int64_t m, double* matrix) const {
    const int64_t n = plan_.size;
    const T* a = static_cast<const T*>(call.inputs[0]) + m * n * n;
    if (transpose_ == few_) {
      for (int64_t i = 0; i < n * n; ++i) matrix[i] = static_cast<double>(a[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) matrix[j * n + i] = static_cast<double>(a[i * n + j]);
    }
  }

  void RunBlock(const NativeCall& call, int64_t m, int64_t first, int64_t count, const double* matrix,
                double* x) const {
    const int64_t n = plan_.size, beside = few_ ? 1 : kBeside;
    const int64_t down = plan_.left_side ? plan_.vectors : 1, across = plan_.left_side ? 1 : n;
    const int64_t base = m * n * plan_.vectors + first * across;
    const T* b = static_cast<const T*>(call.inputs[1]) + base;
    T* result = static_cast<T*>(call.outputs[0]) + base;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t v = 0; v < count; ++v) x[i * beside + v] = static_cast<double>(b[i * down + v * across]);
      for (int64_t v = count; v < beside; ++v) x[i * beside + v] = 0;
    }
    if (few_) {
      SolveTriangularVector(matrix, n, lower_, plan_.unit_diagonal, x);
    } else {
      SolveTriangularVectors(matrix, n, lower_, plan_.unit_diagonal, x);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t v = 0; v < count; ++v) result[i * down + v * across] = static_cast<T>(x[i * beside + v]);
    }
  }

  const TriangularSolvePlan plan_;
  const bool few_, transpose_, lower_;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeTriangularSolve(const TriangularSolvePlan& plan) {
  if (plan.f64) return std::make_unique<TriangularSolve<double>>(plan);
  return std::make_unique<TriangularSolve<float>>(plan);
}

}  // namespace smelt::runtime::native

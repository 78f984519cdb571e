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
template <typename T>
[[gnu::always_inline]] inline void SolveByColumns(const T* columns, int64_t n, bool lower, bool unit, double* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t j = lower ? step : n - 1 - step;
    const T* column = columns + j * n;
    if (!unit) x[j] /= column[j];
    const double value = x[j];
    const int64_t begin = lower ? j + 1 : 0, end = lower ? n : j;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) x[i] -= column[i] * value;
  }
}

// One vector, row by row: `rows` has element (i, j) at i * n + j.
template <typename T>
[[gnu::always_inline]] inline void SolveByRows(const T* rows, int64_t n, bool lower, bool unit, double* x) {
  constexpr int64_t kSums = 32;  // several additions are under way at a time
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    const T* row = rows + i * n;
    const int64_t begin = lower ? 0 : i + 1, end = lower ? i : n;
    double sums[kSums] = {};
    int64_t j = begin;
    for (; j + kSums <= end; j += kSums) {
      for (int64_t k = 0; k < kSums; ++k) sums[k] += row[j + k] * x[j + k];
    }
    for (int64_t k = 0; j < end; ++j, ++k) sums[k] += row[j] * x[j];
    for (int64_t half = kSums / 2; half > 0; half /= 2) {
      for (int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    }
    x[i] -= sums[0];
    if (!unit) x[i] /= row[i];
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
    // One row of the last, smaller block is computed several times.
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

// `by_columns`: as the matrix lies.
SMELT_FOR_EACH_VECTOR_WIDTH void SolveTriangularVector(const float* matrix, int64_t n, bool by_columns, bool lower,
                                                       bool unit, double* x) {
  by_columns ? SolveByColumns(matrix, n, lower, unit, x) : SolveByRows(matrix, n, lower, unit, x);
}
SMELT_FOR_EACH_VECTOR_WIDTH void SolveTriangularVector(const double* matrix, int64_t n, bool by_columns, bool lower,
                                                       bool unit, double* x) {
  by_columns ? SolveByColumns(matrix, n, lower, unit, x) : SolveByRows(matrix, n, lower, unit, x);
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
                 double* x = reinterpret_cast<double*>(call.scratch + worker * ThreadBytes());
                 double* rows = x + AlignUp(plan_.size * kBeside * 8) / 8;
                 int64_t loaded = -1;
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t m = i / blocks, v = i % blocks * kBeside;
                   if (few_) {
                     for (int64_t one = 0; one < plan_.vectors; ++one) RunBlock(call, m, one, 1, nullptr, x);
                     continue;
                   }
                   if (loaded != m) LoadRows(MatrixOf(call, loaded = m), rows);
                   RunBlock(call, m, v, std::min(kBeside, plan_.vectors - v), rows, x);
                 }
               });
  }

 private:
  int64_t ThreadBytes() const {
    return AlignUp(plan_.size * kBeside * 8) + (few_ ? 0 : AlignUp(plan_.size * plan_.size * 8));
  }
  const T* MatrixOf(const NativeCall& call, int64_t m) const {
    return static_cast<const T*>(call.inputs[0]) + m * plan_.size * plan_.size;
  }

  void LoadRows(const T* a, double* rows) const {
    const int64_t n = plan_.size;
    if (!transpose_) {
      for (int64_t i = 0; i < n * n; ++i) rows[i] = static_cast<double>(a[i]);
      return;
    }
    // Some lines of both at a time.
    constexpr int64_t kTile = 16;
    for (int64_t first = 0; first < n; first += kTile) {
      const int64_t last = std::min(first + kTile, n);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = first; i < last; ++i) rows[j * n + i] = static_cast<double>(a[i * n + j]);
      }
    }
  }

  // `rows`: of the matrix, for several vectors.
  void RunBlock(const NativeCall& call, int64_t m, int64_t first, int64_t count, const double* rows, double* x) const {
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
      SolveTriangularVector(MatrixOf(call, m), n, transpose_, lower_, plan_.unit_diagonal, x);
    } else {
      SolveTriangularVectors(rows, n, lower_, plan_.unit_diagonal, x);
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

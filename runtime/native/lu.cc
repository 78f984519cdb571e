#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/native/cpu_versions.h"
#include "runtime/native/linear_algebra.h"
#include "runtime/native/parallel.h"

namespace smelt::runtime::native {
namespace {

constexpr int64_t kPanel = 4;  // columns that are eliminated together

template <typename T>
struct Vector {
  typedef T Lanes __attribute__((vector_size(64)));
  static constexpr int64_t kLanes = 64 / sizeof(T);
};

// panel[u][i] -= columns[t][i] * factors[u][t] for all rows i from `begin`, in the order of t; what lies behind the
// last row up to a whole vector is the columns' own.
template <typename T>
[[gnu::always_inline]] inline void Eliminate(const T* const* columns, int64_t known, const T (*factors)[kPanel],
                                             T* const* panel, int64_t count, int64_t begin, int64_t rows) {
  using Lanes = typename Vector<T>::Lanes;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  if (known == kPanel && count == kPanel) {
    for (int64_t i = begin; i < rows; i += kLanes) {
      Lanes below[kPanel];
      for (int64_t t = 0; t < kPanel; ++t) std::memcpy(&below[t], columns[t] + i, sizeof(Lanes));
      for (int64_t u = 0; u < kPanel; ++u) {
        Lanes value;
        std::memcpy(&value, panel[u] + i, sizeof(Lanes));
        for (int64_t t = 0; t < kPanel; ++t) value -= below[t] * factors[u][t];
        std::memcpy(panel[u] + i, &value, sizeof(Lanes));
      }
    }
    return;
  }
  for (int64_t u = 0; u < count; ++u) {
    for (int64_t t = 0; t < known; ++t) {
      const T factor = factors[u][t];
      const T* column = columns[t];
      T* to = panel[u];
#pragma GCC ivdep
      for (int64_t i = begin; i < rows; ++i) to[i] -= column[i] * factor;
    }
  }
}

// `columns`: the matrix column by column, `pitch` apart, with a vector's room behind the last row. Becomes L (without
// its diagonal of ones) and U. pivots[k] - 1 is the row that changed places with row k. Gives the number, from 1, of
// the first pivot that is zero; 0: there is none.
template <typename T>
[[gnu::always_inline]] inline int32_t Factorise(T* columns, int64_t rows, int64_t count, int64_t pitch,
                                                int32_t* pivots) {
  int32_t zero = 0;
  for (int64_t first = 0; first < count; first += kPanel) {
    const int64_t width = count - first < kPanel ? count - first : kPanel;
    const int64_t known = first < rows ? first : rows;
    T* panel[kPanel] = {};
    for (int64_t u = 0; u < width; ++u) panel[u] = columns + (first + u) * pitch;
    for (int64_t k = 0; k < known; ++k) {
      if (const int64_t with = pivots[k] - 1; with != k) {
        for (int64_t u = 0; u < width; ++u) std::swap(panel[u][k], panel[u][with]);
      }
    }
    for (int64_t k = 0; k < known; k += kPanel) {
      const int64_t steps = known - k < kPanel ? known - k : kPanel;
      const T* before[kPanel] = {};
      for (int64_t t = 0; t < steps; ++t) before[t] = columns + (k + t) * pitch;
      T factors[kPanel][kPanel] = {};
      for (int64_t u = 0; u < width; ++u) {
        for (int64_t t = 0; t < steps; ++t) {
          factors[u][t] = panel[u][k + t];
          for (int64_t s = t + 1; s < steps; ++s) panel[u][k + s] -= before[t][k + s] * factors[u][t];
        }
      }
      Eliminate(before, steps, factors, panel, width, k + steps, rows);
    }
    for (int64_t u = 0; u < width && first + u < rows; ++u) {
      const int64_t k = first + u;
      int64_t with = k;
      for (int64_t i = k + 1; i < rows; ++i) {
        if (std::fabs(panel[u][i]) > std::fabs(panel[u][with])) with = i;
      }
      pivots[k] = static_cast<int32_t>(with + 1);
      if (with != k) {
        for (int64_t j = 0; j < first + width; ++j) std::swap(columns[j * pitch + k], columns[j * pitch + with]);
      }
      const T pivot = panel[u][k];
      if (pivot == 0) {
        if (zero == 0) zero = static_cast<int32_t>(k + 1);
      } else {
        T* column = panel[u];
#pragma GCC ivdep
        for (int64_t i = k + 1; i < rows; ++i) column[i] /= pivot;
      }
      for (int64_t v = u + 1; v < width; ++v) {
        const T* column = panel[u];
        T* to = panel[v];
        const T factor = to[k];
#pragma GCC ivdep
        for (int64_t i = k + 1; i < rows; ++i) to[i] -= column[i] * factor;
      }
    }
  }
  return zero;
}

}  // namespace

SMELT_FOR_EACH_VECTOR_WIDTH int32_t FactoriseLu(float* columns, int64_t rows, int64_t count, int64_t pitch,
                                                int32_t* pivots) {
  return Factorise(columns, rows, count, pitch, pivots);
}
SMELT_FOR_EACH_VECTOR_WIDTH int32_t FactoriseLu(double* columns, int64_t rows, int64_t count, int64_t pitch,
                                                int32_t* pivots) {
  return Factorise(columns, rows, count, pitch, pivots);
}

namespace {

template <typename T>
class Lu : public NativeOperation {
 public:
  explicit Lu(const LuPlan& plan) : plan_(plan), pitch_(plan.rows + Vector<T>::kLanes) {}

  int64_t ScratchBytes(int threads) const override { return threads * ThreadBytes(); }

  void Run(const NativeCall& call) const override {
    const double cells = static_cast<double>(plan_.rows) * static_cast<double>(plan_.columns);
    InParallel(*call.pool, plan_.batch,
               static_cast<double>(plan_.batch) * cells * (4 + static_cast<double>(plan_.Steps()) / 24),
               [&](int worker, int64_t begin, int64_t end) {
                 T* columns = reinterpret_cast<T*>(call.scratch + worker * ThreadBytes());
                 for (int64_t m = begin; m < end; ++m) RunMatrix(call, m, columns);
               });
  }

 private:
  int64_t ThreadBytes() const { return AlignUp(plan_.columns * pitch_ * static_cast<int64_t>(sizeof(T))); }

  void RunMatrix(const NativeCall& call, int64_t m, T* columns) const {
    const int64_t rows = plan_.rows, count = plan_.columns;
    const T* a = static_cast<const T*>(call.inputs[0]) + m * rows * count;
    T* factors = static_cast<T*>(call.outputs[0]) + m * rows * count;
    for (int64_t j = 0; j < count; ++j) {
      T* column = columns + j * pitch_;
      for (int64_t i = 0; i < rows; ++i) column[i] = a[i * count + j];
      for (int64_t i = rows; i < pitch_; ++i) column[i] = 0;
    }
    static_cast<int32_t*>(call.outputs[2])[m] =
        FactoriseLu(columns, rows, count, pitch_, static_cast<int32_t*>(call.outputs[1]) + m * plan_.Steps());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) factors[i * count + j] = columns[j * pitch_ + i];
    }
  }

  const LuPlan plan_;
  const int64_t pitch_;
};

}  // namespace

std::unique_ptr<NativeOperation> MakeLu(const LuPlan& plan) {
  if (plan.f64) return std::make_unique<Lu<double>>(plan);
  return std::make_unique<Lu<float>>(plan);
}

}  // namespace smelt::runtime::native

#pragma GCC optimize("O3")

#include "hlo/evaluator/gemm.h"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

namespace smelt::hlo {
namespace {

constexpr int64_t kDepth = 256;  // of k in one block

template <typename T>
struct IsComplexType : std::false_type {};
template <typename T>
struct IsComplexType<std::complex<T>> : std::true_type {};

template <typename T>
inline T MultiplyAdd(T sum, T a, T b) {
  if constexpr (IsComplexType<T>::value) {
    return {sum.real() + a.real() * b.real() - a.imag() * b.imag(),
            sum.imag() + a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return sum + a * b;
  }
}

// kRows x kColumns sums in registers: vectors of kVectorBytes where T allows, else single elements. `a` has kRows
// elements for each k, `b` kColumns.
template <typename T, int kVectorBytes, int kRowCount, int kVectors>
struct Tile {
  static constexpr int kRows = kRowCount;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kColumns = kLanes * kVectors;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));

  [[gnu::always_inline]] static inline void Run(const T* a, const T* b, int64_t depth, T* sums) {
    Vector c[kRows][kVectors] = {};
    for (int64_t k = 0; k < depth; ++k) {
      Vector row[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) __builtin_memcpy(&row[v], b + k * kColumns + v * kLanes, kVectorBytes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) c[r][v] += a[k * kRows + r] * row[v];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) __builtin_memcpy(sums + r * kColumns + v * kLanes, &c[r][v], kVectorBytes);
    }
  }
};

template <typename T>
struct ScalarTile {
  static constexpr int kRows = 4;
  static constexpr int kColumns = 4;
  static void Run(const T* a, const T* b, int64_t depth, T* sums) {
    T c[kRows][kColumns] = {};
    for (int64_t k = 0; k < depth; ++k) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kColumns; ++v) c[r][v] = MultiplyAdd(c[r][v], a[k * kRows + r], b[k * kColumns + v]);
      }
    }
    for (int r = 0; r < kRows; ++r) std::copy_n(c[r], kColumns, sums + r * kColumns);
  }
};

// One micro-kernel: its tile's size and the code to run.
template <typename T>
struct MicroKernel {
  int64_t rows;
  int64_t columns;
  void (*run)(const T* a, const T* b, int64_t depth, T* sums);
};

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f,fma"))) void RunAvx512(const T* a, const T* b, int64_t depth, T* sums) {
  Tile<T, 64, 12, 2>::Run(a, b, depth, sums);
}
template <typename T>
__attribute__((target("avx2,fma"))) void RunAvx2(const T* a, const T* b, int64_t depth, T* sums) {
  Tile<T, 32, 6, 2>::Run(a, b, depth, sums);
}
#endif
template <typename T>
void RunPlain(const T* a, const T* b, int64_t depth, T* sums) {
  Tile<T, 16, 4, 2>::Run(a, b, depth, sums);
}

template <typename T>
MicroKernel<T> ChooseMicroKernel() {
  if constexpr (IsComplexType<T>::value) {
    return {ScalarTile<T>::kRows, ScalarTile<T>::kColumns, &ScalarTile<T>::Run};
  } else {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return {12, Tile<T, 64, 12, 2>::kColumns, &RunAvx512<T>};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return {6, Tile<T, 32, 6, 2>::kColumns, &RunAvx2<T>};
#endif
    return {4, Tile<T, 16, 4, 2>::kColumns, &RunPlain<T>};
  }
}

template <typename T>
const MicroKernel<T>& Kernel() {
  static const MicroKernel<T> kernel = ChooseMicroKernel<T>();
  return kernel;
}

}  // namespace

template <typename T>
int64_t GemmPackedSize(int64_t k, int64_t n) {
  const int64_t columns = Kernel<T>().columns;
  return (n + columns - 1) / columns * columns * std::max<int64_t>(k, 1);
}

// Blocks of kDepth rows; in each, panels of `columns` columns, row by row, zeros beyond n.
template <typename T>
void GemmPack(const T* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride, T* packed) {
  const int64_t columns = Kernel<T>().columns;
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - k0);
    for (int64_t n0 = 0; n0 < n; n0 += columns) {
      const int64_t width = std::min(columns, n - n0);
      for (int64_t r = 0; r < depth; ++r) {
        const T* row = b + (k0 + r) * row_stride + n0 * column_stride;
        if (column_stride == 1) {
          std::copy_n(row, width, packed);
        } else {
          for (int64_t i = 0; i < width; ++i) packed[i] = row[i * column_stride];
        }
        std::fill(packed + width, packed + columns, T{});
        packed += columns;
      }
    }
  }
}

template <typename T>
void GemmRows(const T* a, int64_t m, int64_t row_stride, int64_t column_stride, const T* packed, int64_t k, int64_t n,
              T* c, int64_t c_row_stride) {
  const MicroKernel<T>& kernel = Kernel<T>();
  const int64_t panels = (n + kernel.columns - 1) / kernel.columns;
  const int64_t block_rows = kernel.rows * 12;
  std::vector<T> a_block(static_cast<size_t>(block_rows * std::min(kDepth, std::max<int64_t>(k, 1))));
  alignas(64) T sums[12 * 32];
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_row_stride, n, T{});
  }
  for (int64_t m0 = 0; m0 < m; m0 += block_rows) {
    const int64_t rows = std::min(block_rows, m - m0);
    const T* panel = packed;
    for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - k0);
      T* target = a_block.data();
      for (int64_t r0 = 0; r0 < rows; r0 += kernel.rows) {
        const int64_t height = std::min(kernel.rows, rows - r0);
        for (int64_t r = 0; r < kernel.rows; ++r) {
          const T* row = a + (m0 + r0 + std::min(r, height - 1)) * row_stride + k0 * column_stride;
          for (int64_t d = 0; d < depth; ++d) target[d * kernel.rows + r] = row[d * column_stride];
        }
        target += depth * kernel.rows;
      }
      for (int64_t p = 0; p < panels; ++p, panel += depth * kernel.columns) {
        const int64_t width = std::min(kernel.columns, n - p * kernel.columns);
        for (int64_t r0 = 0; r0 < rows; r0 += kernel.rows) {
          kernel.run(a_block.data() + r0 * depth, panel, depth, sums);
          const int64_t height = std::min(kernel.rows, rows - r0);
          for (int64_t r = 0; r < height; ++r) {
            T* out = c + (m0 + r0 + r) * c_row_stride + p * kernel.columns;
            const T* in = sums + r * kernel.columns;
            if (k0 == 0) {
              std::copy_n(in, width, out);
            } else {
              for (int64_t i = 0; i < width; ++i) out[i] += in[i];
            }
          }
        }
      }
    }
  }
}

template <typename T>
bool GemmIsThin(int64_t m, int64_t n, int64_t k) {
  return m <= 2 || n <= 2 || m * n < 64 || m * n * k < 8192;
}

template <typename T>
void GemmThin(const T* a, int64_t m, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t b_column,
              int64_t k, int64_t n, T* c, int64_t c_row) {
  for (int64_t i = 0; i < m; ++i) {
    T* out = c + i * c_row;
    const T* row = a + i * a_row;
    if (b_column == 1 && n >= 8) {
      // Columns side by side: one pass over b, block sums joined at the end of each block.
      std::fill_n(out, n, T{});
      T block[512];
      for (int64_t n0 = 0; n0 < n; n0 += 512) {
        const int64_t width = std::min<int64_t>(512, n - n0);
        for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
          std::fill_n(block, width, T{});
          const int64_t end = std::min(k, k0 + kDepth);
          for (int64_t d = k0; d < end; ++d) {
            const T factor = row[d * a_column];
            const T* b_part = b + d * b_row + n0;
            for (int64_t j = 0; j < width; ++j) block[j] = MultiplyAdd(block[j], factor, b_part[j]);
          }
          for (int64_t j = 0; j < width; ++j) out[n0 + j] += block[j];
        }
      }
      continue;
    }
    for (int64_t j = 0; j < n; ++j) {
      const T* column = b + j * b_column;
      T total{};
      for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
        // Eight sums: independent additions, and less rounding than one.
        T sums[8] = {};
        const int64_t end = std::min(k, k0 + kDepth);
        int64_t d = k0;
        for (; d + 8 <= end; d += 8) {
          for (int64_t u = 0; u < 8; ++u)
            sums[u] = MultiplyAdd(sums[u], row[(d + u) * a_column], column[(d + u) * b_row]);
        }
        for (; d < end; ++d) sums[0] = MultiplyAdd(sums[0], row[d * a_column], column[d * b_row]);
        total += ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
      }
      out[j] = total;
    }
  }
}

#define INSTANTIATE(T)                                                                                             \
  template int64_t GemmPackedSize<T>(int64_t, int64_t);                                                            \
  template void GemmPack<T>(const T*, int64_t, int64_t, int64_t, int64_t, T*);                                     \
  template void GemmRows<T>(const T*, int64_t, int64_t, int64_t, const T*, int64_t, int64_t, T*, int64_t);         \
  template bool GemmIsThin<T>(int64_t, int64_t, int64_t);                                                          \
  template void GemmThin<T>(const T*, int64_t, int64_t, int64_t, const T*, int64_t, int64_t, int64_t, int64_t, T*, \
                            int64_t);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)
#undef INSTANTIATE

}  // namespace smelt::hlo

#include "gnn/native/dense.h"

// One version for each kind of vectors, chosen when the program is loaded. The thread sanitizer puts calls of its own
// into what chooses, which runs before they can be made.
#if defined(__SANITIZE_THREAD__)
#define SMELT_FOR_EACH_CPU
#else
#define SMELT_FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#endif

namespace smelt::gnn {
namespace {

// Rows and columns of c that stay in registers during a pass over k: 6 x 64 floats are 24 of the 32 vector registers of
// AVX-512.
constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 64;

using Vector = float __attribute__((vector_size(64), aligned(4)));

}  // namespace

SMELT_FOR_EACH_CPU void MultiplyAdd(const float* a, const float* b, float* c, int64_t rows, int64_t k, int64_t n) {
  int64_t j = 0;
  for (; j + kColumns <= n; j += kColumns) {
    int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) {
      Vector sums[kRows][4];
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t v = 0; v < 4; ++v) sums[r][v] = *reinterpret_cast<const Vector*>(&c[(i + r) * n + j + 16 * v]);
      }
      for (int64_t x = 0; x < k; ++x) {
        const Vector* row = reinterpret_cast<const Vector*>(&b[x * n + j]);
        const Vector b0 = row[0], b1 = row[1], b2 = row[2], b3 = row[3];
        for (int64_t r = 0; r < kRows; ++r) {
          const float factor = a[(i + r) * k + x];
          sums[r][0] += factor * b0;
          sums[r][1] += factor * b1;
          sums[r][2] += factor * b2;
          sums[r][3] += factor * b3;
        }
      }
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t v = 0; v < 4; ++v) *reinterpret_cast<Vector*>(&c[(i + r) * n + j + 16 * v]) = sums[r][v];
      }
    }
    for (; i < rows; ++i) {
      Vector sums[4];
      for (int64_t v = 0; v < 4; ++v) sums[v] = *reinterpret_cast<const Vector*>(&c[i * n + j + 16 * v]);
      for (int64_t x = 0; x < k; ++x) {
        const Vector* row = reinterpret_cast<const Vector*>(&b[x * n + j]);
        const float factor = a[i * k + x];
        for (int64_t v = 0; v < 4; ++v) sums[v] += factor * row[v];
      }
      for (int64_t v = 0; v < 4; ++v) *reinterpret_cast<Vector*>(&c[i * n + j + 16 * v]) = sums[v];
    }
  }
  for (int64_t i = 0; i < rows && j < n; ++i) {
    for (int64_t x = 0; x < k; ++x) {
      const float factor = a[i * k + x];
      for (int64_t jj = j; jj < n; ++jj) c[i * n + jj] += factor * b[x * n + jj];
    }
  }
}

SMELT_FOR_EACH_CPU void AddScaled(const float* x, float alpha, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += alpha * x[i];
}

}  // namespace smelt::gnn

#include "gnn/native/dense.h"

#include <algorithm>
#include <cmath>

#include "gnn/features/vector_versions.h"

namespace smelt::gnn {
namespace {

// Rows and columns of c that stay in registers during a pass over k: 6 x 64 floats are 24 of the 32 vector registers of
// AVX-512. They do so only where the loops over them are unrolled altogether, which the compiler is told.
constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 64;

using Vector = float __attribute__((vector_size(64), aligned(4)));

// Columns of `a` that are looked at together: their list lies on the stack.
constexpr int64_t kDepth = 512;

// What MultiplyAdd multiplies: `count` columns of `a`, listed.
struct Product {
  const float* a;
  const float* b;
  float* c;
  int64_t rows, k, n;
  const int32_t* into;
  const int32_t* some;
  int64_t count;
};

// The columns from `begin` on that are not zero in every row.
__attribute__((always_inline)) inline int64_t ListColumns(const float* a, int64_t rows, int64_t k, int64_t begin,
                                                          int64_t end, int32_t* some) {
  int64_t found = 0, x = begin;
  for (; x + 16 <= end; x += 16) {
    Vector sizes = Vector{};
    for (int64_t i = 0; i < rows; ++i) {
      const Vector& value = *reinterpret_cast<const Vector*>(&a[i * k + x]);
      sizes += value < 0.0f ? -value : value;
    }
    for (int64_t lane = 0; lane < 16; ++lane) {
      some[found] = static_cast<int32_t>(x + lane);
      found += sizes[lane] == 0 ? 0 : 1;
    }
  }
  for (; x < end; ++x) some[found++] = static_cast<int32_t>(x);
  return found;
}

// The product's rows from i on and columns from j on: so many of them, in registers.
template <int kHeight, int kVectors>
__attribute__((always_inline)) inline void MultiplyBlock(const Product& p, int64_t i, int64_t j) {
  const float* const a = &p.a[i * p.k];
  const int64_t k = p.k, n = p.n;
  Vector sums[kHeight][kVectors];
  float* rows[kHeight];
#pragma GCC unroll 6
  for (int64_t r = 0; r < kHeight; ++r) {
    rows[r] = &p.c[(p.into == nullptr ? i + r : p.into[i + r]) * n + j];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = *reinterpret_cast<const Vector*>(&rows[r][16 * v]);
  }
  for (int64_t s = 0; s < p.count; ++s) {
    const int64_t x = p.some[s];
    const Vector* row = reinterpret_cast<const Vector*>(&p.b[x * n + j]);
    Vector loaded[kVectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) loaded[v] = row[v];
#pragma GCC unroll 6
    for (int64_t r = 0; r < kHeight; ++r) {
      const float factor = a[r * k + x];
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) sums[r][v] += factor * loaded[v];
    }
  }
#pragma GCC unroll 6
  for (int64_t r = 0; r < kHeight; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(&rows[r][16 * v]) = sums[r][v];
  }
}

// All rows of these columns. The last few rows keep as many multiplications in flight as they can.
template <int kVectors>
__attribute__((always_inline)) inline void MultiplyColumns(const Product& p, int64_t j) {
  int64_t i = 0;
  for (; i + kRows <= p.rows; i += kRows) MultiplyBlock<kRows, kVectors>(p, i, j);
  if (i + 3 <= p.rows) {
    MultiplyBlock<3, kVectors>(p, i, j);
    i += 3;
  }
  if (i + 2 <= p.rows) {
    MultiplyBlock<2, kVectors>(p, i, j);
    i += 2;
  }
  if (i < p.rows) MultiplyBlock<1, kVectors>(p, i, j);
}

__attribute__((always_inline)) inline void MultiplyListed(const Product& p) {
  int64_t j = 0;
  while (p.n - j >= 16) {
    // Six vectors go in two times three: two alone leave half of the registers empty.
    const int64_t left = (p.n - j) / 16;
    if (left == 4 || left > 6) {
      MultiplyColumns<4>(p, j);
      j += 64;
    } else if (left >= 3) {
      MultiplyColumns<3>(p, j);
      j += 48;
    } else if (left == 2) {
      MultiplyColumns<2>(p, j);
      j += 32;
    } else {
      MultiplyColumns<1>(p, j);
      j += 16;
    }
  }
  for (int64_t i = 0; i < p.rows && j < p.n; ++i) {
    float* row = &p.c[(p.into == nullptr ? i : p.into[i]) * p.n];
    for (int64_t s = 0; s < p.count; ++s) {
      const float factor = p.a[i * p.k + p.some[s]];
      for (int64_t jj = j; jj < p.n; ++jj) row[jj] += factor * p.b[p.some[s] * p.n + jj];
    }
  }
}

// sums = a[rows from i on] . b + bias, over some columns of `a`.
template <int kHeight>
__attribute__((always_inline)) inline void SumRows(const float* a, int64_t lda, const float* b, const float* bias,
                                                   const int32_t* some, int64_t count, int64_t i,
                                                   Vector (&sums)[kHeight][4]) {
  static_assert(kBlockColumns == kColumns);
#pragma GCC unroll 6
  for (int64_t r = 0; r < kHeight; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < 4; ++v) sums[r][v] = Vector{} + bias[i + r];
  }
  for (int64_t s = 0; s < count; ++s) {
    const int64_t x = some[s];
    const Vector* row = reinterpret_cast<const Vector*>(&b[x * kColumns]);
    const Vector b0 = row[0], b1 = row[1], b2 = row[2], b3 = row[3];
#pragma GCC unroll 6
    for (int64_t r = 0; r < kHeight; ++r) {
      const float factor = a[(i + r) * lda + x];
      sums[r][0] += factor * b0;
      sums[r][1] += factor * b1;
      sums[r][2] += factor * b2;
      sums[r][3] += factor * b3;
    }
  }
}

// Rows i and on of c, and of these the ones with a value above 0.
template <int kHeight>
__attribute__((always_inline)) inline int64_t StoreRelu(const Vector (&sums)[kHeight][4], float* c, int64_t i,
                                                        int32_t* awake, int64_t found) {
  const Vector zero = Vector{};
#pragma GCC unroll 6
  for (int64_t r = 0; r < kHeight; ++r) {
    Vector largest = zero;
#pragma GCC unroll 4
    for (int64_t v = 0; v < 4; ++v) {
      const Vector x = sums[r][v] > zero ? sums[r][v] : zero;
      *reinterpret_cast<Vector*>(&c[(i + r) * kColumns + 16 * v]) = x;
      largest = largest > x ? largest : x;
    }
    float any = 0;
    for (int64_t lane = 0; lane < 16; ++lane) any += largest[lane];
    awake[found] = static_cast<int32_t>(i + r);
    found += any > 0 ? 1 : 0;
  }
  return found;
}

template <int kHeight>
__attribute__((always_inline)) inline void AddDot(const Vector (&sums)[kHeight][4], const float* out, float* y) {
  const Vector zero = Vector{};
#pragma GCC unroll 4
  for (int64_t v = 0; v < 4; ++v) {
    Vector& total = *reinterpret_cast<Vector*>(&y[16 * v]);
#pragma GCC unroll 6
    for (int64_t r = 0; r < kHeight; ++r) total += out[r] * (sums[r][v] > zero ? sums[r][v] : zero);
  }
}

}  // namespace

SMELT_VECTOR_VERSIONS void MultiplyAdd(const float* a, const float* b, float* c, int64_t rows, int64_t k, int64_t n,
                                       const int32_t* into) {
  int32_t some[kDepth];
  for (int64_t begin = 0; begin < k; begin += kDepth) {
    const int64_t count = ListColumns(a, rows, k, begin, std::min(k, begin + kDepth), some);
    MultiplyListed({a, b, c, rows, k, n, into, some, count});
  }
}

SMELT_VECTOR_VERSIONS int64_t ReluLayer(const float* a, int64_t lda, const float* b, const float* bias, float* c,
                                        int64_t rows, const int32_t* some, int64_t count, int32_t* awake) {
  int64_t found = 0, i = 0;
  for (; i + kRows <= rows; i += kRows) {
    Vector sums[kRows][4];
    SumRows<kRows>(a, lda, b, bias, some, count, i, sums);
    found = StoreRelu<kRows>(sums, c, i, awake, found);
  }
  for (; i < rows; ++i) {
    Vector sums[1][4];
    SumRows<1>(a, lda, b, bias, some, count, i, sums);
    found = StoreRelu<1>(sums, c, i, awake, found);
  }
  return found;
}

SMELT_VECTOR_VERSIONS void ReluLayerAndDot(const float* a, int64_t lda, const float* b, const float* bias,
                                           const float* out, float* y, int64_t rows, const int32_t* some,
                                           int64_t count) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    Vector sums[kRows][4];
    SumRows<kRows>(a, lda, b, bias, some, count, i, sums);
    AddDot<kRows>(sums, &out[i], y);
  }
  for (; i < rows; ++i) {
    Vector sums[1][4];
    SumRows<1>(a, lda, b, bias, some, count, i, sums);
    AddDot<1>(sums, &out[i], y);
  }
}

SMELT_VECTOR_VERSIONS bool ClipColumn(const float* x, float low, float high, float* out) {
  const Vector lowest = Vector{} + low, highest = Vector{} + high;
  Vector least, most;
#pragma GCC unroll 4
  for (int64_t v = 0; v < 4; ++v) {
    Vector value = *reinterpret_cast<const Vector*>(&x[16 * v]);
    value = value < lowest ? lowest : value;
    value = value > highest ? highest : value;
    *reinterpret_cast<Vector*>(&out[16 * v]) = value;
    least = v == 0 ? value : (value < least ? value : least);
    most = v == 0 ? value : (value > most ? value : most);
  }
  float smallest = least[0], largest = most[0];
  for (int64_t lane = 1; lane < 16; ++lane) {
    smallest = std::min(smallest, least[lane]);
    largest = std::max(largest, most[lane]);
  }
  return smallest != largest;
}

SMELT_VECTOR_VERSIONS void AddScaled(const float* x, float alpha, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    *reinterpret_cast<Vector*>(&y[i]) += alpha * *reinterpret_cast<const Vector*>(&x[i]);
  }
  for (; i < n; ++i) y[i] += alpha * x[i];
}

SMELT_VECTOR_VERSIONS void Relu(float* x, int64_t n) {
  const Vector zero = Vector{};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Vector& value = *reinterpret_cast<Vector*>(&x[i]);
    value = value > zero ? value : zero;
  }
  for (; i < n; ++i) x[i] = std::max(x[i], 0.0f);
}

SMELT_VECTOR_VERSIONS void StandardiseRows(float* rows, int64_t count, int64_t width, const float* low,
                                           const float* high, const float* mean, const float* scale) {
  const auto vector = [](const float* x) -> const Vector& { return *reinterpret_cast<const Vector*>(x); };
  for (int64_t r = 0; r < count; ++r) {
    float* row = &rows[r * width];
    int64_t c = 0;
    for (; c + 16 <= width; c += 16) {
      Vector& x = *reinterpret_cast<Vector*>(&row[c]);
      Vector clipped = x < vector(&low[c]) ? vector(&low[c]) : x;
      clipped = clipped > vector(&high[c]) ? vector(&high[c]) : clipped;
      x = (clipped - vector(&mean[c])) * vector(&scale[c]);
    }
    for (; c < width; ++c) row[c] = (std::clamp(row[c], low[c], high[c]) - mean[c]) * scale[c];
  }
}

SMELT_VECTOR_VERSIONS void AddReluAndScale(const float* change, float* state, int64_t n) {
  const Vector zero = Vector{};
  Vector sums = zero;
  float squares = 0;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const Vector& added = *reinterpret_cast<const Vector*>(&change[i]);
    Vector& x = *reinterpret_cast<Vector*>(&state[i]);
    x += added > zero ? added : zero;
    sums += x * x;
  }
  for (; i < n; ++i) {
    state[i] += std::max(change[i], 0.0f);
    squares += state[i] * state[i];
  }
  for (int64_t lane = 0; lane < 16; ++lane) squares += sums[lane];
  const float scale = 1.0f / (std::sqrt(squares) / std::sqrt(static_cast<float>(n)) + 1e-6f);
  for (i = 0; i + 16 <= n; i += 16) *reinterpret_cast<Vector*>(&state[i]) *= scale;
  for (; i < n; ++i) state[i] *= scale;
}

SMELT_VECTOR_VERSIONS void PoolRows(const float* rows, int64_t count, int64_t n, float* pooled) {
  const float share = 1.0f / static_cast<float>(std::max<int64_t>(count, 1));
  int64_t c = 0;
  for (; c + 16 <= n; c += 16) {
    Vector sum = Vector{}, most = count > 0 ? *reinterpret_cast<const Vector*>(&rows[c]) : Vector{};
    for (int64_t r = 0; r < count; ++r) {
      const Vector& x = *reinterpret_cast<const Vector*>(&rows[r * n + c]);
      sum += x;
      most = x > most ? x : most;
    }
    *reinterpret_cast<Vector*>(&pooled[c]) = sum * share;
    *reinterpret_cast<Vector*>(&pooled[n + c]) = most;
    *reinterpret_cast<Vector*>(&pooled[2 * n + c]) = sum * (1.0f / 32);
  }
  for (; c < n; ++c) {
    float sum = 0, most = count > 0 ? rows[c] : 0.0f;
    for (int64_t r = 0; r < count; ++r) {
      sum += rows[r * n + c];
      most = std::max(most, rows[r * n + c]);
    }
    pooled[c] = sum * share;
    pooled[n + c] = most;
    pooled[2 * n + c] = sum * (1.0f / 32);
  }
}

}  // namespace smelt::gnn

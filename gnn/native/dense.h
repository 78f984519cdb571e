// The loops that a network spends its time in, compiled for several instruction sets and chosen at load time.
#pragma once

#include <cstdint>

namespace smelt::gnn {

// c[rows x n] += a[rows x k] . b[k x n]; all row-major and dense. Where `into` is given, it lists for each row of `a`
// the row of `c` that it goes to, each once. Columns of `a` that are zero in every row cost next to nothing.
void MultiplyAdd(const float* a, const float* b, float* c, int64_t rows, int64_t k, int64_t n,
                 const int32_t* into = nullptr);
// Columns of the matrices of the two layers below.
inline constexpr int64_t kBlockColumns = 64;
// c[rows x 64] = relu(a[rows x lda] . b[lda x 64] + bias[rows]), over the columns of `a` (and rows of `b`) that `some`
// lists: the others are known to add nothing. The rows of `c` that have a value above 0 go to `awake`; returns their
// number.
int64_t ReluLayer(const float* a, int64_t lda, const float* b, const float* bias, float* c, int64_t rows,
                  const int32_t* some, int64_t count, int32_t* awake);
// y[64] += out[rows] . relu(a[rows x lda] . b[lda x 64] + bias[rows]), over these columns of `a`.
void ReluLayerAndDot(const float* a, int64_t lda, const float* b, const float* bias, const float* out, float* y,
                     int64_t rows, const int32_t* some, int64_t count);
// The 64 values within the limits. Returns whether they differ.
bool ClipColumn(const float* x, float low, float high, float* out);

// y[n] += alpha * x[n]
void AddScaled(const float* x, float alpha, float* y, int64_t n);
// x[n]: negative values become 0.
void Relu(float* x, int64_t n);
// Each of the rows: x[c] <- (x[c] within low[c] and high[c] - mean[c]) * scale[c].
void StandardiseRows(float* rows, int64_t count, int64_t width, const float* low, const float* high, const float* mean,
                     const float* scale);
// state[n] <- state + relu(change), over its norm, times the root of n.
void AddReluAndScale(const float* change, float* state, int64_t n);
// Mean, maximum and sum over 32 of the rows, one behind the other: pooled[3 * n].
void PoolRows(const float* rows, int64_t count, int64_t n, float* pooled);

}  // namespace smelt::gnn

// The three loops that a network spends its time in, compiled for several instruction sets and chosen at load time.
#pragma once

#include <cstdint>

namespace smelt::gnn {

// c[rows x n] += a[rows x k] . b[k x n]; all row-major and dense.
void MultiplyAdd(const float* a, const float* b, float* c, int64_t rows, int64_t k, int64_t n);
// y[n] += alpha * x[n]
void AddScaled(const float* x, float alpha, float* y, int64_t n);

}  // namespace smelt::gnn

// A plain blocked matrix product, for dot and convolution: c = a * b with b packed into panels once and used for many
// rows.
//
//   std::vector<float> storage(GemmPackedSize<float>(k, n));
//   GemmPack(b, k, n, /*row_stride=*/n, /*column_stride=*/1, storage.data());
//   GemmRows(a, m, /*row_stride=*/k, /*column_stride=*/1, storage.data(), k, n, c, /*c_row_stride=*/n);
//
// Sums over k are split into blocks of 256 that are added up one after the other, so f32 results are at least as
// accurate as any library's. T: float, double, uint32_t, uint64_t (integers wrap), std::complex<float>,
// std::complex<double>. Thread-safe; rows may be split over threads.
#pragma once

#include <cstdint>

namespace smelt::hlo {

// Elements of the packed form of a k x n matrix.
template <typename T>
int64_t GemmPackedSize(int64_t k, int64_t n);

template <typename T>
void GemmPack(const T* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride, T* packed);

// Overwrites m rows of c, n contiguous elements each.
template <typename T>
void GemmRows(const T* a, int64_t m, int64_t row_stride, int64_t column_stride, const T* packed, int64_t k, int64_t n,
              T* c, int64_t c_row_stride);

// For products too small or too thin for packing to pay: one row or a few columns, or little work altogether.
template <typename T>
bool GemmIsThin(int64_t m, int64_t n, int64_t k);
template <typename T>
void GemmThin(const T* a, int64_t m, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, int64_t b_column,
              int64_t k, int64_t n, T* c, int64_t c_row);

}  // namespace smelt::hlo

#include "hlo/evaluator/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace smelt::hlo {
namespace {

struct Bits128 {
  uint64_t low, high;
};

// The innermost loop, or the two innermost, by what their strides allow.
template <typename T>
void CopyRow(const T* source, T* target, int64_t count, int64_t source_stride, int64_t target_stride) {
  if (target_stride == 1 && source_stride == 1) {
    std::memcpy(target, source, count * sizeof(T));
  } else if (target_stride == 1 && source_stride == 0) {
    std::fill_n(target, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * target_stride] = source[i * source_stride];
  }
}

// A transposition walks one side against its grain: tiles keep both sides' lines in the cache.
template <typename T>
void CopyTiled(const T* source, T* target, int64_t rows, int64_t columns, int64_t source_row, int64_t source_column,
               int64_t target_row, int64_t target_column) {
  constexpr int64_t kTile = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const int64_t r1 = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r) {
        CopyRow(source + r * source_row + c0 * source_column, target + r * target_row + c0 * target_column, c1 - c0,
                source_column, target_column);
      }
    }
  }
}

template <typename T>
void CopyElements(const StridedCopy& copy, const T* source, T* target) {
  const int64_t rank = static_cast<int64_t>(copy.sizes.size());
  source += copy.source_offset;
  target += copy.target_offset;
  if (rank == 0) {
    *target = *source;
    return;
  }
  const int64_t inner = std::min<int64_t>(rank, 2);
  const int64_t outer_rank = rank - inner;
  std::vector<int64_t> index(outer_rank, 0);
  const int64_t columns = copy.sizes[rank - 1];
  const int64_t source_column = copy.source_strides[rank - 1], target_column = copy.target_strides[rank - 1];
  const int64_t rows = inner == 2 ? copy.sizes[rank - 2] : 1;
  const int64_t source_row = inner == 2 ? copy.source_strides[rank - 2] : 0;
  const int64_t target_row = inner == 2 ? copy.target_strides[rank - 2] : 0;
  const bool tiled = inner == 2 && source_row == 1 && source_column != 1 && rows > 1;
  while (true) {
    if (tiled) {
      CopyTiled(source, target, rows, columns, source_row, source_column, target_row, target_column);
    } else {
      for (int64_t r = 0; r < rows; ++r) {
        CopyRow(source + r * source_row, target + r * target_row, columns, source_column, target_column);
      }
    }
    int64_t d = outer_rank - 1;
    for (; d >= 0; --d) {
      source += copy.source_strides[d];
      target += copy.target_strides[d];
      if (++index[d] < copy.sizes[d]) break;
      source -= copy.source_strides[d] * copy.sizes[d];
      target -= copy.target_strides[d] * copy.sizes[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

StridedCopy Simplified(const StridedCopy& copy) {
  StridedCopy result{.source_offset = copy.source_offset, .target_offset = copy.target_offset};
  for (size_t d = 0; d < copy.sizes.size(); ++d) {
    const int64_t size = copy.sizes[d], source = copy.source_strides[d], target = copy.target_strides[d];
    if (size == 1) continue;
    if (!result.sizes.empty() && result.source_strides.back() == source * size &&
        result.target_strides.back() == target * size) {
      result.sizes.back() *= size;
      result.source_strides.back() = source;
      result.target_strides.back() = target;
      continue;
    }
    result.sizes.push_back(size);
    result.source_strides.push_back(source);
    result.target_strides.push_back(target);
  }
  // A transposition whose source-contiguous dimension is further out: bring it next to the innermost one, where it is
  // tiled.
  const int64_t rank = static_cast<int64_t>(result.sizes.size());
  if (rank > 2 && result.source_strides[rank - 1] != 1 && result.source_strides[rank - 2] != 1) {
    for (int64_t d = 0; d < rank - 2; ++d) {
      if (result.source_strides[d] != 1) continue;
      for (auto* list : {&result.sizes, &result.source_strides, &result.target_strides}) {
        std::rotate(list->begin() + d, list->begin() + d + 1, list->begin() + rank - 1);
      }
      break;
    }
  }
  return result;
}

void RunStridedCopy(const StridedCopy& copy, int64_t element_bytes, const void* source, void* target) {
  for (int64_t size : copy.sizes) {
    if (size <= 0) return;
  }
  RunSimplifiedCopy(Simplified(copy), element_bytes, source, target);
}

void RunSimplifiedCopy(const StridedCopy& simple, int64_t element_bytes, const void* source, void* target) {
  switch (element_bytes) {
    case 1:
      CopyElements(simple, static_cast<const uint8_t*>(source), static_cast<uint8_t*>(target));
      break;
    case 2:
      CopyElements(simple, static_cast<const uint16_t*>(source), static_cast<uint16_t*>(target));
      break;
    case 4:
      CopyElements(simple, static_cast<const uint32_t*>(source), static_cast<uint32_t*>(target));
      break;
    case 8:
      CopyElements(simple, static_cast<const uint64_t*>(source), static_cast<uint64_t*>(target));
      break;
    default:
      CopyElements(simple, static_cast<const Bits128*>(source), static_cast<Bits128*>(target));
  }
}

}  // namespace smelt::hlo

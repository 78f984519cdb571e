#include "runtime/native/sort_words.h"

#include <algorithm>
#include <utility>

namespace smelt::runtime::native {
namespace {

constexpr int64_t kInsertion = 32;    // below: insertion sort
constexpr int64_t kComparison = 192;  // below: comparisons

void InsertionSort(uint64_t* words, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const uint64_t word = words[i];
    int64_t j = i;
    for (; j > 0 && words[j - 1] > word; --j) words[j] = words[j - 1];
    words[j] = word;
  }
}

// Sorts by digits of the key, the lowest first; digits that are the same everywhere are skipped.
template <int kBits>
uint64_t* RadixSort(uint64_t* words, uint64_t* spare, int64_t count) {
  constexpr int kDigits = (32 + kBits - 1) / kBits, kValues = 1 << kBits;
  uint32_t counts[kDigits][kValues] = {};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = words[i] >> 32;
    for (int d = 0; d < kDigits; ++d) ++counts[d][key >> (d * kBits) & (kValues - 1)];
  }
  for (int d = 0; d < kDigits; ++d) {
    const int shift = 32 + d * kBits;
    if (counts[d][words[0] >> shift & (kValues - 1)] == static_cast<uint64_t>(count)) continue;
    uint32_t start = 0;
    for (uint32_t& value : counts[d]) start += std::exchange(value, start);
    for (int64_t i = 0; i < count; ++i) spare[counts[d][words[i] >> shift & (kValues - 1)]++] = words[i];
    std::swap(words, spare);
  }
  return words;
}

}  // namespace

uint64_t* SortWords(uint64_t* words, uint64_t* spare, int64_t count) {
  if (count <= kInsertion) {
    InsertionSort(words, count);
    return words;
  }
  if (count <= kComparison) {
    std::sort(words, words + count);
    return words;
  }
  return count < 4096 ? RadixSort<8>(words, spare, count) : RadixSort<11>(words, spare, count);
}

}  // namespace smelt::runtime::native

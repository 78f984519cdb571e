// Sorts words that hold a key above and a position below.
#pragma once

#include <cstdint>

namespace smelt::runtime::native {

// Ascending. Words of equal keys stay in the order of their positions, which are the lower 32 bits, if they begin so.
// `spare` has room for as many; the result is in what is returned.
uint64_t* SortWords(uint64_t* words, uint64_t* spare, int64_t count);

}  // namespace smelt::runtime::native

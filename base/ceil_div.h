// Quotients rounded up: how many tiles, blocks or passes hold so many elements.
//
//   smelt::CeilDiv(10, 4);   // 3
#pragma once

#include <cstdint>

namespace smelt {

// Both at least zero, and `size` above it.
constexpr int64_t CeilDiv(int64_t elements, int64_t size) { return (elements + size - 1) / size; }

}  // namespace smelt

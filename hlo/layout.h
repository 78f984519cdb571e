// How the elements of an array lie in memory by the text of a module: `{1,0:T(8,128)S(1)}` behind the dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::hlo {

// Physical order of an array's dimensions, minor first, and the rest of what the text says after the colon.
struct Layout {
  std::vector<int64_t> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;  // INT64_MIN is the text's `*`
  int64_t element_size_in_bits = 0;         // E(n); 0 when not given
  int64_t memory_space = 0;                 // S(n)
  std::string rest;                         // D(..), L, #, *, SC, P and M, in this order and as XLA prints them

  // Whether minor_to_major is an order of that many dimensions: it names each of them once.
  bool OrdersDimensions(int64_t rank) const;
  // Appends the text, its parts in the order in which XLA reads them; nothing where the layout says nothing.
  void AppendTo(std::string* out) const;

  bool operator==(const Layout&) const = default;
};

}  // namespace smelt::hlo

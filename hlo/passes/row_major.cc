#include "hlo/passes/row_major.h"

namespace smelt::hlo {

bool IsRowMajor(const Shape& shape) {
  if (!shape.IsArray()) return false;
  if (!shape.layout || shape.HasDefaultLayout()) return true;
  if (!shape.layout->tiles.empty() || static_cast<int64_t>(shape.layout->minor_to_major.size()) != shape.rank()) {
    return false;
  }
  int64_t last = shape.rank();
  for (int64_t d : shape.layout->minor_to_major) {
    if (shape.dimensions[d] == 1) continue;
    if (d > last) return false;
    last = d;
  }
  return true;
}

}  // namespace smelt::hlo

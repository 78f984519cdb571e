// Whether an array lies in memory row by row.
#pragma once

#include "hlo/shape.h"

namespace smelt::hlo {

// The layout is absent, the default, or differs from it by dimensions of size 1 only, and has no tiles.
bool IsRowMajor(const Shape& shape);

}  // namespace smelt::hlo

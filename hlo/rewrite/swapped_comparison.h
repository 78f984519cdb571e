// Comparisons with their operands exchanged.
#pragma once

#include "hlo/attributes.h"

namespace smelt::hlo {

// The direction with which y and x compare as x and y do with `direction`: a < b is b > a.
inline ComparisonDirection Swapped(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    default:
      return direction;
  }
}

}  // namespace smelt::hlo

#include "kernels/te/hlo/position.h"

#include <algorithm>
#include <iterator>

namespace smelt::kernels::te {

bool DependsOnPosition(const Operation& operation) {
  constexpr const char* kTags[] = {"iota",     "pad",       "taps", "concatenate", "dynamic-update-slice",
                                   "constant", "interleave"};
  return std::any_of(std::begin(kTags), std::end(kTags), [&](const char* tag) { return operation.tag == tag; });
}

}  // namespace smelt::kernels::te

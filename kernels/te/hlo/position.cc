#include "kernels/te/hlo/position.h"

#include <algorithm>
#include <iterator>

namespace smelt::kernels::te {

bool DependsOnPosition(const Operation& operation) {
  constexpr std::string_view kTags[] = {"iota",     "taps",      "concatenate", "dynamic-update-slice",
                                        "constant", "interleave"};
  return IsPadding(operation) || std::find(std::begin(kTags), std::end(kTags), operation.tag) != std::end(kTags);
}

bool IsPadding(const Operation& operation) { return operation.tag == "pad" || operation.tag == kBorderTag; }

}  // namespace smelt::kernels::te

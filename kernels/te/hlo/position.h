// Operations whose value depends on where an element lies: which part of a stack it is in, whether it is border.
#pragma once

#include <string_view>

#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// The tag of the zeros that a convolution adds around its picture.
inline constexpr std::string_view kBorderTag = "border";

bool DependsOnPosition(const Operation& operation);
// An array with elements of another value around it: that of a convolution, or HLO's pad.
bool IsPadding(const Operation& operation);

}  // namespace smelt::kernels::te

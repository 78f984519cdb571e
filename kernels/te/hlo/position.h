// Operations whose value depends on where an element lies: which part of a stack it is in, whether it is border.
#pragma once

#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

bool DependsOnPosition(const Operation& operation);

}  // namespace smelt::kernels::te

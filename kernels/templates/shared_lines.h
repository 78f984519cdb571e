// Lines of an elementwise result that are computed together because they read the same lines of an operand: a stencil.
//
//   r[y, x] = p[y - 1, x] + p[y, x - 1] + p[y, x + 1] + p[y + 1, x]
//
// Four lines at once load 6 vectors of p's column x and 4 of each neighbour, 14 instead of 20; a stencil of 3 x 3 loads
// 18 instead of 36. What lies in registers is shared by the compiler once copies of the body stand side by side.
#pragma once

#include "kernels/nests/structure.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

struct SharedLines {
  int axis = -1;      // of the nest's root, never its last one; -1: nothing is shared
  int64_t lines = 1;  // of that axis, together

  explicit operator bool() const { return axis >= 0; }
};

// `nest` is injective, with vectors along its root's last axis.
SharedLines SharedLinesOf(const Nest& nest, const machine::Machine& target);

}  // namespace smelt::kernels::nests

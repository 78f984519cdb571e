// Stores that follow each other and fill a row of memory together: vectors of x, of y and of z that become x y z x y z
// in one array. Shuffled in registers, these are as many whole vectors.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// How many of the first statements are stores without a predicate of as many vectors of four lanes or more that
// interleave: each to every n-th element of one buffer, one element after the one before, and none with a value that
// needs what another one writes. 0 where there are no two.
size_t InterleavedStores(absl::Span<const kernels::ir::Stmt> stmts);

}  // namespace smelt::cpu::codegen

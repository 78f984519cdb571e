// Loads of one straight piece of code that read whole rows of memory between them: of rows of x y z, vectors of all x,
// of all y and of all z. They are as many whole vectors, which are taken apart in registers: a load of lanes six
// elements apart would otherwise come lane by lane.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

struct InterleavedLoads {
  // One an element of a row, in its order. A second node that reads the same element is none of them and loads by
  // itself.
  std::vector<const kernels::te::ExprNode*> loads;
  size_t first_use = 0;  // which statement needs one first
};

// Those that stores among the statements read without a predicate, of four lanes and more. Only from buffers that are
// not `written`.
std::vector<InterleavedLoads> FindInterleavedLoads(absl::Span<const kernels::ir::Stmt> stmts,
                                                   const absl::flat_hash_set<const kernels::ir::BufferNode*>& written);

}  // namespace smelt::cpu::codegen

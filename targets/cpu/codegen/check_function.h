// Whether a lowered kernel is one that code can be generated for, so that generating it cannot fail.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// Unimplemented: an element type or an operation on it that has no code. Internal: a form that lowering should have
// removed (reads of tensors, conditionals, accesses with several indices). ResourceExhausted: more than LLVM compiles
// in seconds. Fills `written` with the buffers that the function stores to.
absl::Status CheckFunction(const kernels::ir::Function& function,
                           absl::flat_hash_set<const kernels::ir::BufferNode*>* written);

}  // namespace smelt::cpu::codegen

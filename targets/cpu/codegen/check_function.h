// Whether a lowered kernel is one that code can be generated for, so that generating it cannot fail.
#pragma once

#include <functional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// Whether the CPU has a feature, by LLVM's name.
using HasFeature = std::function<bool(std::string_view)>;

struct IntrinsicCode;  // intrinsic_code.h

struct CheckedFunction {
  absl::flat_hash_set<const kernels::ir::BufferNode*> written;  // by any phase
  absl::flat_hash_map<const kernels::te::Intrinsic*, const IntrinsicCode*> intrinsics;
};

// Unimplemented: an element type, an operation on it or an intrinsic that has no code on this CPU. Internal: a form
// that lowering should have removed (reads of tensors, conditionals, accesses with several indices). ResourceExhausted:
// more than LLVM compiles in seconds.
absl::StatusOr<CheckedFunction> CheckFunction(const kernels::ir::Function& function, const HasFeature& has_feature);

}  // namespace smelt::cpu::codegen

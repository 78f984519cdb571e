// Code of intrinsics (kernels/te/intrinsic.h) on this CPU, by name.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/Value.h>

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/te/intrinsic.h"
#include "targets/cpu/codegen/check_function.h"
#include "targets/cpu/codegen/element_types.h"

namespace smelt::cpu::codegen {

struct IntrinsicCode {
  std::string_view name;
  std::string_view feature;  // of the CPU that it needs, as LLVM calls it; empty: none
  // `operands` are in register form, addresses are pointers. Returns the value; of a call that has none, the call. Null
  // for calls on tiles, which are emitted by runs of statements (tile_block.h).
  llvm::Value* (*emit)(Builder& builder, const kernels::te::ExprNode& call, absl::Span<llvm::Value* const> operands);
};

// The best code for it on a CPU of these features, never null. Unimplemented: there is none.
absl::StatusOr<const IntrinsicCode*> FindIntrinsicCode(std::string_view name, const HasFeature& has_feature);

}  // namespace smelt::cpu::codegen

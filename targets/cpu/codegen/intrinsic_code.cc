#include "targets/cpu/codegen/intrinsic_code.h"

#include <llvm/IR/Intrinsics.h>

namespace smelt::cpu::codegen {
namespace {

using Operands = absl::Span<llvm::Value* const>;

llvm::Value* EmitPrefetch(Builder& builder, const kernels::te::ExprNode& call, Operands operands) {
  llvm::Value* write = builder.getInt32(static_cast<uint32_t>(call.operands[1]->int_value));
  llvm::Value* locality = builder.getInt32(static_cast<uint32_t>(call.operands[2]->int_value));
  llvm::Value* data_cache = builder.getInt32(1);
  return builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {operands[0]->getType()},
                                 {operands[0], write, locality, data_cache});
}

constexpr IntrinsicCode kIntrinsics[] = {
    {"prefetch", EmitPrefetch},
};

}  // namespace

const IntrinsicCode* FindIntrinsicCode(std::string_view name) {
  for (const IntrinsicCode& entry : kIntrinsics) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace smelt::cpu::codegen

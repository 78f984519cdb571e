#include "targets/cpu/codegen/dot_code.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "kernels/te/buffer.h"
#include "kernels/te/intrinsic.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::ExprNode;

// The lanes follow from the name's end.
int LanesOfCall(const ExprNode& call) {
  const std::string& name = call.intrinsic->name;
  return name.ends_with("_16") ? 16 : name.ends_with("_8") ? 8 : 4;
}

llvm::Value* LoadVector(Builder& builder, llvm::Type* element, int lanes, llvm::Value* pointer, int align) {
  return builder.CreateAlignedLoad(llvm::FixedVectorType::get(element, lanes), pointer, llvm::Align(align));
}

// A group of four bytes, or of two halves, in all lanes.
llvm::Value* LoadGroup(Builder& builder, int lanes, llvm::Value* pointer) {
  return builder.CreateVectorSplat(lanes, builder.CreateAlignedLoad(builder.getInt32Ty(), pointer, llvm::Align(1)));
}

llvm::Value* StoreSums(Builder& builder, llvm::Value* sums, llvm::Value* pointer) {
  return builder.CreateAlignedStore(sums, pointer, llvm::Align(4));
}

// The same vector, of which LLVM does not know that it is constant. It would do arithmetic of a constant with what all
// lanes share before sharing it out, and that takes a shuffle where loading it into all lanes takes none.
llvm::Value* Opaque(Builder& builder, llvm::Value* vector) {
  auto* type = llvm::FunctionType::get(vector->getType(), {vector->getType()}, /*isVarArg=*/false);
  llvm::CallInst* same = builder.CreateCall(llvm::InlineAsm::get(type, "", "=x,0", /*hasSideEffects=*/false), {vector});
  same->setDoesNotAccessMemory();
  same->setDoesNotThrow();
  return same;
}

// acc += x * w, x unsigned and w signed.
llvm::Value* Vpdpbusd(Builder& builder, int lanes, llvm::Value* acc, llvm::Value* x, llvm::Value* w) {
  const llvm::Intrinsic::ID id =
      lanes == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  llvm::Value* sums = LoadVector(builder, builder.getInt32Ty(), lanes, acc, 4);
  return StoreSums(builder, builder.CreateIntrinsic(id, {}, {sums, x, w}), acc);
}

// The terms of even and of odd places of groups of four bytes, as 16-bit integers.
struct Halves {
  llvm::Value *even, *odd;
};

Halves Widen(Builder& builder, int lanes, llvm::Value* groups, bool is_signed) {
  llvm::Value* pairs = builder.CreateBitCast(groups, llvm::FixedVectorType::get(builder.getInt16Ty(), 2 * lanes));
  llvm::Value* low = builder.CreateShl(pairs, 8);
  if (is_signed) return {builder.CreateAShr(low, 8), builder.CreateAShr(pairs, 8)};
  return {builder.CreateLShr(low, 8), builder.CreateLShr(pairs, 8)};
}

}  // namespace

llvm::Value* EmitVpdpbusd(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  return Vpdpbusd(builder, lanes, operands[0], LoadGroup(builder, lanes, operands[1]),
                  LoadVector(builder, builder.getInt32Ty(), lanes, operands[2], 1));
}

llvm::Value* EmitVpdpbusdShifted(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  llvm::Value* shift = Opaque(builder, builder.CreateVectorSplat(lanes, builder.getInt32(0x80808080u)));
  llvm::Value* x = builder.CreateXor(LoadGroup(builder, lanes, operands[1]), shift);
  return Vpdpbusd(builder, lanes, operands[0], x, LoadVector(builder, builder.getInt32Ty(), lanes, operands[2], 1));
}

llvm::Value* EmitVpdpbusdSwapped(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  return Vpdpbusd(builder, lanes, operands[0], LoadVector(builder, builder.getInt32Ty(), lanes, operands[2], 1),
                  LoadGroup(builder, lanes, operands[1]));
}

llvm::Value* EmitVpdpbusdOnes(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  llvm::Value* ones = builder.CreateVectorSplat(lanes, builder.getInt32(0x01010101u));
  return Vpdpbusd(builder, lanes, operands[0], ones, LoadVector(builder, builder.getInt32Ty(), lanes, operands[1], 1));
}

// Exact: two products of bytes fit 32 bits. The terms of even places and those of odd ones are pairs of 16-bit
// integers, widened by shifts in place, which takes one instruction less than widening four bytes in order does.
llvm::Value* EmitVpmaddwd(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  const auto is_signed = [&](int i) { return call.operands[i]->buffer->type == hlo::PrimitiveType::kS8; };
  const Halves x = Widen(builder, lanes, LoadGroup(builder, lanes, operands[1]), is_signed(1));
  const Halves w =
      Widen(builder, lanes, LoadVector(builder, builder.getInt32Ty(), lanes, operands[2], 1), is_signed(2));
  const llvm::Intrinsic::ID id =
      lanes == 16 ? llvm::Intrinsic::x86_avx512_pmaddw_d_512 : llvm::Intrinsic::x86_avx2_pmadd_wd;
  llvm::Value* sums = LoadVector(builder, builder.getInt32Ty(), lanes, operands[0], 4);
  sums = builder.CreateAdd(sums, builder.CreateIntrinsic(id, {}, {x.even, w.even}));
  return StoreSums(builder, builder.CreateAdd(sums, builder.CreateIntrinsic(id, {}, {x.odd, w.odd})), operands[0]);
}

llvm::Value* EmitVdpbf16ps(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  auto* pairs = llvm::FixedVectorType::get(builder.getBFloatTy(), 2 * lanes);
  llvm::Value* x = builder.CreateBitCast(LoadGroup(builder, lanes, operands[1]), pairs);
  llvm::Value* w = builder.CreateBitCast(LoadVector(builder, builder.getInt32Ty(), lanes, operands[2], 2), pairs);
  llvm::Value* sums = LoadVector(builder, builder.getFloatTy(), lanes, operands[0], 4);
  return StoreSums(builder, builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {sums, x, w}),
                   operands[0]);
}

llvm::Value* EmitSdot(Builder& builder, const ExprNode& call, CallOperands operands) {
  const int lanes = LanesOfCall(call);
  auto* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), 4 * lanes);
  llvm::Value* x = builder.CreateBitCast(LoadGroup(builder, lanes, operands[1]), bytes);
  llvm::Value* w = LoadVector(builder, builder.getInt8Ty(), 4 * lanes, operands[2], 1);
  llvm::Value* sums = LoadVector(builder, builder.getInt32Ty(), lanes, operands[0], 4);
  return StoreSums(builder,
                   builder.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_sdot, {sums->getType(), bytes}, {sums, x, w}),
                   operands[0]);
}

llvm::Value* EmitInterleave(Builder& builder, const ExprNode& call, CallOperands operands) {
  const auto constant = [&](int i) { return call.operands[i]->int_value; };
  const int64_t stride = constant(2), lanes = constant(3), depth = constant(4), step = constant(5);
  const int64_t bytes = hlo::StorageBytes(call.operands[0]->buffer->type);
  llvm::Type* element = builder.getIntNTy(static_cast<unsigned>(8 * bytes));
  const llvm::Align align(bytes);
  const auto from = [&](int64_t offset) {
    return builder.CreateConstInBoundsGEP1_64(element, operands[1], static_cast<uint64_t>(offset));
  };
  if (step == 1 && (depth == 2 || depth == 4)) {
    // Rows side by side, then a lane of each after the other.
    std::vector<llvm::Value*> rows;
    for (int64_t k = 0; k < depth; ++k)
      rows.push_back(LoadVector(builder, element, static_cast<int>(lanes), from(k * stride), static_cast<int>(bytes)));
    std::vector<int> both, order;
    for (int64_t j = 0; j < 2 * lanes; ++j) both.push_back(static_cast<int>(j));
    while (rows.size() > 2) {
      rows = {builder.CreateShuffleVector(rows[0], rows[1], both), builder.CreateShuffleVector(rows[2], rows[3], both)};
    }
    for (int64_t j = 0; j < lanes; ++j) {
      for (int64_t k = 0; k < depth; ++k) order.push_back(static_cast<int>(k * lanes + j));
    }
    return builder.CreateAlignedStore(builder.CreateShuffleVector(rows[0], rows[1], order), operands[0], align);
  }
  if (stride == 1 && 8 * bytes * depth <= 64) {
    // Each group is a number.
    llvm::Type* group = builder.getIntNTy(static_cast<unsigned>(8 * bytes * depth));
    llvm::Value* groups = llvm::PoisonValue::get(llvm::FixedVectorType::get(group, static_cast<unsigned>(lanes)));
    for (int64_t j = 0; j < lanes; ++j)
      groups = builder.CreateInsertElement(groups, builder.CreateAlignedLoad(group, from(j * step), align), j);
    return builder.CreateAlignedStore(groups, operands[0], align);
  }
  llvm::Value* last = nullptr;
  for (int64_t j = 0; j < lanes; ++j) {
    for (int64_t k = 0; k < depth; ++k) {
      llvm::Value* to = builder.CreateConstInBoundsGEP1_64(element, operands[0], static_cast<uint64_t>(j * depth + k));
      last =
          builder.CreateAlignedStore(builder.CreateAlignedLoad(element, from(k * stride + j * step), align), to, align);
    }
  }
  return last;
}

}  // namespace smelt::cpu::codegen

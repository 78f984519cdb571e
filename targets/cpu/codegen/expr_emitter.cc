#include "base/check.h"
#include "hlo/small_float.h"
#include "targets/cpu/codegen/check_function.h"
#include "targets/cpu/codegen/intrinsic_code.h"
#include "targets/cpu/codegen/phase_emitter.h"

namespace smelt::cpu::codegen {

using kernels::te::BinaryOp;
using kernels::te::Expr;
using kernels::te::ExprKind;
using kernels::te::ExprNode;

llvm::Value* PhaseEmitter::Find(Key key) const {
  if (auto at = statement_.find(key); at != statement_.end()) return at->second;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto at = scope->find(key); at != scope->end()) return at->second;
  }
  return nullptr;
}

llvm::Value* PhaseEmitter::At(const Expr& e, Width width) const {
  llvm::Value* value = Find({e.get(), width});
  Check(value != nullptr, "an operand is emitted before its user");
  return value;
}

llvm::Value* PhaseEmitter::Lanes(llvm::Type* element, int lanes) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes; ++i) {
    values.push_back(element->isIntegerTy() ? llvm::ConstantInt::get(element, i)
                                            : llvm::ConstantFP::get(element, static_cast<double>(i)));
  }
  return llvm::ConstantVector::get(values);
}

PhaseEmitter::Width PhaseEmitter::IndexWidth(const Expr& e) {
  const bool vector_index = e.type().lanes > 1 && e.type().element == kernels::te::kIndex.element;
  return vector_index && facts_.Of(e.get()).narrow ? Width::kNarrow : Width::kFull;
}

void PhaseEmitter::Dependencies(const ExprNode& node, Width width, std::vector<Key>* keys) {
  auto add = [&](const Expr& e, Width w) { keys->push_back({e.get(), w}); };
  if (width == Width::kNarrow) {
    switch (node.kind) {
      case ExprKind::kInt:
        return;
      case ExprKind::kBinary:
      case ExprKind::kRamp:
      case ExprKind::kSplat:
        for (const Expr& operand : node.operands) add(operand, Width::kNarrow);
        return;
      case ExprKind::kSelect:
        add(node.operands[0], Width::kFull);
        add(node.operands[1], Width::kNarrow);
        add(node.operands[2], Width::kNarrow);
        return;
      case ExprKind::kCast:
        add(node.operands[0], Width::kFull);
        return;
      default:
        keys->push_back({&node, Width::kFull});
        return;
    }
  }
  if (node.kind == ExprKind::kLoad) {
    LoadDependencies(node, keys);
    return;
  }
  if (node.kind == ExprKind::kCompare) {
    const bool narrow = IndexWidth(node.operands[0]) == Width::kNarrow && facts_.Of(node.operands[1].get()).narrow;
    for (const Expr& operand : node.operands) add(operand, narrow ? Width::kNarrow : Width::kFull);
    return;
  }
  for (const Expr& operand : node.operands) add(operand, Width::kFull);
}

llvm::Value* PhaseEmitter::Emit(Key wanted) {
  struct Visit {
    Key key;
    bool expanded;
  };
  std::vector<Visit> stack = {{wanted, false}};
  std::vector<Key> dependencies;
  while (!stack.empty()) {
    const Visit top = stack.back();
    if (Find(top.key) != nullptr) {
      stack.pop_back();
      continue;
    }
    if (!top.expanded) {
      stack.back().expanded = true;
      dependencies.clear();
      Dependencies(*top.key.node, top.key.width, &dependencies);
      for (auto key = dependencies.rbegin(); key != dependencies.rend(); ++key) stack.push_back({*key, false});
      continue;
    }
    stack.pop_back();
    llvm::Value* value = top.key.width == Width::kNarrow ? EmitNarrow(*top.key.node) : EmitNode(*top.key.node);
    // What reads memory that the kernel writes is good for this statement only.
    Memo& memo = facts_.Of(top.key.node).reads_written ? statement_ : scopes_.back();
    memo[top.key] = value;
  }
  return Find(wanted);
}

llvm::Value* PhaseEmitter::EmitNarrow(const ExprNode& node) {
  llvm::Type* type = WithLanes(builder_.getInt32Ty(), node.type.lanes);
  auto operand = [&](int i) { return At(node.operands[i], Width::kNarrow); };
  switch (node.kind) {
    case ExprKind::kInt:
      return IntegerConstant(type, node.int_value);
    case ExprKind::kRamp: {
      llvm::Value* base = builder_.CreateVectorSplat(node.type.lanes, operand(0));
      llvm::Value* stride = builder_.CreateVectorSplat(node.type.lanes, operand(1));
      llvm::Value* steps = builder_.CreateMul(Lanes(builder_.getInt32Ty(), node.type.lanes), stride, "", false, true);
      return builder_.CreateAdd(base, steps, "", false, true);
    }
    case ExprKind::kSplat:
      return builder_.CreateVectorSplat(node.type.lanes, operand(0));
    case ExprKind::kBinary:
      return EmitBinary(node, operand(0), operand(1));
    case ExprKind::kSelect: {
      llvm::Value* condition = At(node.operands[0]);
      return builder_.CreateSelect(condition, operand(1), operand(2));
    }
    case ExprKind::kCast: {
      const kernels::te::PrimitiveType from = node.operands[0].type().element;
      llvm::Value* x = At(node.operands[0]);
      return hlo::IsSigned(from) ? builder_.CreateSExtOrTrunc(x, type) : builder_.CreateZExtOrTrunc(x, type);
    }
    default:
      return builder_.CreateTrunc(Find({&node, Width::kFull}), type);
  }
}

// Index arithmetic whose bounds are known cannot overflow, and says so to LLVM.
llvm::Value* PhaseEmitter::EmitBinary(const ExprNode& node, llvm::Value* a, llvm::Value* b) {
  if (node.type.element != kernels::te::kIndex.element)
    return arithmetic_.Binary(node.binary(), node.type.element, a, b);
  const Interval left = facts_.Of(node.operands[0].get()).range;
  const Interval right = facts_.Of(node.operands[1].get()).range;
  const bool bounded = left.known && right.known;
  const bool non_negative = left.NonNegative() && right.NonNegative();
  const bool exact = bounded && facts_.Of(&node).range.known;
  switch (node.binary()) {
    case BinaryOp::kAdd:
      return builder_.CreateAdd(a, b, "", exact && non_negative, exact);
    case BinaryOp::kSub:
      return builder_.CreateSub(a, b, "", false, exact);
    case BinaryOp::kMul:
      return builder_.CreateMul(a, b, "", exact && non_negative, exact);
    case BinaryOp::kFloorDiv:
      return arithmetic_.FloorDivide(a, b, non_negative);
    case BinaryOp::kFloorMod:
      return arithmetic_.FloorModulo(a, b, non_negative);
    default:
      return arithmetic_.Binary(node.binary(), node.type.element, a, b);
  }
}

llvm::Value* PhaseEmitter::EmitNode(const ExprNode& node) {
  auto operand = [&](int i) { return At(node.operands[i]); };
  if (node.kind == ExprKind::kAddress) return Pointer(*node.buffer, operand(0));
  if (node.kind == ExprKind::kCall) {
    std::vector<llvm::Value*> operands;
    for (const Expr& e : node.operands) operands.push_back(At(e));
    return checked_.intrinsics.at(node.intrinsic.get())->emit(builder_, node, operands);
  }
  llvm::Type* type = RegisterType(context_, node.type);
  const kernels::te::PrimitiveType element = node.type.element;
  switch (node.kind) {
    case ExprKind::kInt:
      return IntegerConstant(type, node.int_value);
    case ExprKind::kFloat: {
      double value = node.float_value;
      if (hlo::BitWidth(element) <= 16) {
        value = hlo::DecodeFloat(element, hlo::EncodeFloat(element, value));
      }
      return RealConstant(type, value);
    }
    case ExprKind::kUnary:
      // The operand's type decides: is_finite of a float is a pred.
      return arithmetic_.Unary(node.unary(), node.operands[0].type().element, operand(0));
    case ExprKind::kBinary:
      return EmitBinary(node, operand(0), operand(1));
    case ExprKind::kCompare: {
      const kernels::te::PrimitiveType compared = node.operands[0].type().element;
      llvm::Value* a = Find({node.operands[0].get(), Width::kNarrow});
      llvm::Value* b = Find({node.operands[1].get(), Width::kNarrow});
      if (a == nullptr || b == nullptr) {
        a = operand(0);
        b = operand(1);
      }
      return arithmetic_.Compare(node.compare(), compared, a, b);
    }
    case ExprKind::kSelect:
      return builder_.CreateSelect(operand(0), operand(1), operand(2));
    case ExprKind::kCast:
      return arithmetic_.Cast(element, node.operands[0].type().element, operand(0));
    case ExprKind::kBitCast:
      return arithmetic_.BitCast(element, node.operands[0].type().element, operand(0));
    case ExprKind::kLoad:
      return EmitLoad(node);
    case ExprKind::kRamp: {
      llvm::Value* base = builder_.CreateVectorSplat(node.type.lanes, operand(0));
      llvm::Value* stride = builder_.CreateVectorSplat(node.type.lanes, operand(1));
      llvm::Value* lanes = Lanes(type->getScalarType(), node.type.lanes);
      if (hlo::IsFloat(element)) return builder_.CreateFAdd(base, builder_.CreateFMul(lanes, stride));
      return builder_.CreateAdd(base, builder_.CreateMul(lanes, stride));
    }
    case ExprKind::kSplat:
      return builder_.CreateVectorSplat(node.type.lanes, operand(0));
    default:
      Check(false, "CheckFunction lets no other expression through");
      return nullptr;
  }
}

}  // namespace smelt::cpu::codegen

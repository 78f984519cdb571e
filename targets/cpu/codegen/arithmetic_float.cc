#include <llvm/IR/Intrinsics.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "base/check.h"
#include "targets/cpu/codegen/arithmetic.h"

namespace smelt::cpu::codegen {

using kernels::te::BinaryOp;
using kernels::te::PrimitiveType;
using kernels::te::UnaryOp;

namespace {

// Twice the value of a constant that is the same odd number of halves in all lanes, from -7 to 7; 0: it is none.
int OddHalves(llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && value->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr) return 0;
  const double twice = 2 * number->getValueAPF().convertToDouble();
  const int halves = std::abs(twice) <= 7 ? static_cast<int>(twice) : 0;
  return halves % 2 != 0 && halves == twice ? halves : 0;
}

}  // namespace

llvm::Value* Arithmetic::Libm(const char* function, std::initializer_list<llvm::Value*> arguments) {
  const bool wide = (*arguments.begin())->getType()->getScalarType()->isDoubleTy();
  const std::string name = wide ? function : std::string(function) + "f";
  return math_.CallByLane(name.c_str(), arguments);
}

llvm::Value* Arithmetic::Unary(UnaryOp op, PrimitiveType type, llvm::Value* x) {
  if (!hlo::IsFloat(type)) return IntegerUnary(op, type, x);
  llvm::Value* result = FloatUnary(op, x);
  if (op == UnaryOp::kIsFinite) return result;
  return RoundArithmetic(builder_, type, result);
}

llvm::Value* Arithmetic::Binary(BinaryOp op, PrimitiveType type, llvm::Value* a, llvm::Value* b) {
  if (!hlo::IsFloat(type)) return IntegerBinary(op, type, a, b);
  return RoundArithmetic(builder_, type, FloatBinary(op, a, b));
}

llvm::Value* Arithmetic::FloatUnary(UnaryOp op, llvm::Value* x) {
  const bool wide = x->getType()->getScalarType()->isDoubleTy();
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, x); };
  auto real = [&](double value) { return RealConstant(x->getType(), value); };
  switch (op) {
    case UnaryOp::kNegate:
      return builder_.CreateFNeg(x);
    case UnaryOp::kAbs:
      return intrinsic(llvm::Intrinsic::fabs);
    case UnaryOp::kSign: {
      // Zeros keep their sign, NaN stays.
      llvm::Value* unit = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, real(1), x);
      return builder_.CreateSelect(builder_.CreateFCmpUEQ(x, real(0)), x, unit);
    }
    case UnaryOp::kFloor:
      return intrinsic(llvm::Intrinsic::floor);
    case UnaryOp::kCeil:
      return intrinsic(llvm::Intrinsic::ceil);
    case UnaryOp::kRoundEven:
      return intrinsic(llvm::Intrinsic::roundeven);
    case UnaryOp::kRoundAfz:
      return intrinsic(llvm::Intrinsic::round);
    case UnaryOp::kSqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case UnaryOp::kRsqrt:
      return builder_.CreateFDiv(real(1), intrinsic(llvm::Intrinsic::sqrt));
    case UnaryOp::kExp:
      return wide ? math_.ExpF64(x) : math_.Exp(x);
    case UnaryOp::kExpm1:
      return wide ? math_.Expm1F64(x) : math_.Expm1(x);
    case UnaryOp::kLog:
      return wide ? math_.LogF64(x) : math_.Log(x);
    case UnaryOp::kLog1p:
      return wide ? math_.Log1pF64(x) : math_.Log1p(x);
    case UnaryOp::kTanh:
      return wide ? math_.TanhF64(x) : math_.Tanh(x);
    case UnaryOp::kLogistic:
      if (!wide) return math_.Logistic(x);
      return builder_.CreateFDiv(real(1), builder_.CreateFAdd(real(1), math_.ExpF64(builder_.CreateFNeg(x))));
    case UnaryOp::kSin:
      return wide ? math_.SinOrCosF64(x, /*cosine=*/false) : math_.Sin(x);
    case UnaryOp::kCos:
      return wide ? math_.SinOrCosF64(x, /*cosine=*/true) : math_.Cos(x);
    case UnaryOp::kErf:
      return wide ? Libm("erf", {x}) : math_.Erf(x);
    case UnaryOp::kTan:
      return wide ? Libm("tan", {x}) : math_.Tan(x);
    case UnaryOp::kCbrt:
      return wide ? Libm("cbrt", {x}) : math_.Cbrt(x);
    case UnaryOp::kAsin:
      return wide ? Libm("asin", {x}) : math_.Asin(x);
    case UnaryOp::kAcos:
      return wide ? Libm("acos", {x}) : math_.Acos(x);
    case UnaryOp::kAtan:
      return wide ? Libm("atan", {x}) : math_.Atan(x);
    case UnaryOp::kSinh:
      return wide ? Libm("sinh", {x}) : math_.Sinh(x);
    case UnaryOp::kCosh:
      return wide ? Libm("cosh", {x}) : math_.Cosh(x);
    case UnaryOp::kAsinh:
      return wide ? Libm("asinh", {x}) : math_.Asinh(x);
    case UnaryOp::kAcosh:
      return wide ? Libm("acosh", {x}) : math_.Acosh(x);
    case UnaryOp::kAtanh:
      return wide ? Libm("atanh", {x}) : math_.Atanh(x);
    case UnaryOp::kIsFinite:
      return builder_.CreateFCmpONE(intrinsic(llvm::Intrinsic::fabs), real(std::numeric_limits<double>::infinity()));
    default:
      Check(false, "unary operation has no meaning on floats");
      return nullptr;
  }
}

llvm::Value* Arithmetic::MinMax(bool maximum, llvm::Value* a, llvm::Value* b) {
  // The processor's maximum returns its second operand when either is NaN. An operand that is a number goes first,
  // so that constants, as in a rectifier, cost one instruction.
  auto is_number = [](llvm::Value* value) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    if (constant == nullptr) return false;
    if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* real = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    return real != nullptr && !real->isNaN();
  };
  if (is_number(b)) std::swap(a, b);
  llvm::Value* first = maximum ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  llvm::Value* result = builder_.CreateSelect(first, a, b);
  if (is_number(a)) return result;
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, result);
}

llvm::Value* Arithmetic::FloatBinary(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  const bool wide = a->getType()->getScalarType()->isDoubleTy();
  switch (op) {
    case BinaryOp::kAdd:
      return builder_.CreateFAdd(a, b);
    case BinaryOp::kSub:
      return builder_.CreateFSub(a, b);
    case BinaryOp::kMul:
      return builder_.CreateFMul(a, b);
    case BinaryOp::kDiv:
      return builder_.CreateFDiv(a, b);
    case BinaryOp::kRem:
      return wide ? Libm("fmod", {a, b}) : math_.Remainder(a, b);
    case BinaryOp::kMin:
      return MinMax(false, a, b);
    case BinaryOp::kMax:
      return MinMax(true, a, b);
    case BinaryOp::kPower:
      if (const int halves = OddHalves(b); halves != 0) return math_.PowOfHalves(a, halves);
      return wide ? Libm("pow", {a, b}) : math_.Pow(a, b);
    case BinaryOp::kAtan2:
      return wide ? Libm("atan2", {a, b}) : math_.Atan2(a, b);
    default:
      Check(false, "binary operation has no meaning on floats");
      return nullptr;
  }
}

llvm::Value* Arithmetic::Compare(kernels::te::CompareOp op, PrimitiveType type, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    P ordered, is_signed, is_unsigned;
  };
  static constexpr Row kRows[] = {
      {P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
      {P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
      {P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE},
  };
  const Row& row = kRows[static_cast<int>(op)];
  if (hlo::IsFloat(type)) return builder_.CreateFCmp(row.ordered, a, b);
  return builder_.CreateICmp(hlo::IsSigned(type) ? row.is_signed : row.is_unsigned, a, b);
}

}  // namespace smelt::cpu::codegen

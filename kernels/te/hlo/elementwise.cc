#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/te/hlo/rules.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {
namespace {

using hlo::Opcode;

struct UnaryEntry {
  Opcode opcode;
  UnaryOp op;
};
constexpr UnaryEntry kUnaryOps[] = {
    {Opcode::kNegate, UnaryOp::kNegate},
    {Opcode::kAbs, UnaryOp::kAbs},
    {Opcode::kNot, UnaryOp::kNot},
    {Opcode::kSign, UnaryOp::kSign},
    {Opcode::kFloor, UnaryOp::kFloor},
    {Opcode::kCeil, UnaryOp::kCeil},
    {Opcode::kRoundNearestEven, UnaryOp::kRoundEven},
    {Opcode::kRoundNearestAfz, UnaryOp::kRoundAfz},
    {Opcode::kSqrt, UnaryOp::kSqrt},
    {Opcode::kRsqrt, UnaryOp::kRsqrt},
    {Opcode::kCbrt, UnaryOp::kCbrt},
    {Opcode::kExp, UnaryOp::kExp},
    {Opcode::kExpm1, UnaryOp::kExpm1},
    {Opcode::kLog, UnaryOp::kLog},
    {Opcode::kLog1p, UnaryOp::kLog1p},
    {Opcode::kTanh, UnaryOp::kTanh},
    {Opcode::kLogistic, UnaryOp::kLogistic},
    {Opcode::kSin, UnaryOp::kSin},
    {Opcode::kCos, UnaryOp::kCos},
    {Opcode::kTan, UnaryOp::kTan},
    {Opcode::kErf, UnaryOp::kErf},
    {Opcode::kAsin, UnaryOp::kAsin},
    {Opcode::kAcos, UnaryOp::kAcos},
    {Opcode::kAtanh, UnaryOp::kAtanh},
    {Opcode::kAsinh, UnaryOp::kAsinh},
    {Opcode::kAcosh, UnaryOp::kAcosh},
    {Opcode::kSinh, UnaryOp::kSinh},
    {Opcode::kCosh, UnaryOp::kCosh},
    {Opcode::kIsFinite, UnaryOp::kIsFinite},
    {Opcode::kPopulationCount, UnaryOp::kPopcount},
    {Opcode::kClz, UnaryOp::kClz},
};

struct BinaryEntry {
  Opcode opcode;
  BinaryOp op;
  std::optional<BinaryOp> on_pred;  // what it means for truth values, where that differs
};
constexpr BinaryEntry kBinaryOps[] = {
    {Opcode::kAdd, BinaryOp::kAdd, BinaryOp::kOr},
    {Opcode::kSubtract, BinaryOp::kSub, BinaryOp::kXor},
    {Opcode::kMultiply, BinaryOp::kMul, BinaryOp::kAnd},
    {Opcode::kDivide, BinaryOp::kDiv, {}},
    {Opcode::kRemainder, BinaryOp::kRem, {}},
    {Opcode::kMaximum, BinaryOp::kMax, BinaryOp::kOr},
    {Opcode::kMinimum, BinaryOp::kMin, BinaryOp::kAnd},
    {Opcode::kAnd, BinaryOp::kAnd, {}},
    {Opcode::kOr, BinaryOp::kOr, {}},
    {Opcode::kXor, BinaryOp::kXor, {}},
    {Opcode::kShiftLeft, BinaryOp::kShiftLeft, {}},
    {Opcode::kShiftRightLogical, BinaryOp::kShiftRightLogical, {}},
    {Opcode::kShiftRightArithmetic, BinaryOp::kShiftRightArithmetic, {}},
    {Opcode::kPower, BinaryOp::kPower, {}},
    {Opcode::kAtan2, BinaryOp::kAtan2, {}},
};

const UnaryEntry* FindUnary(Opcode opcode) {
  for (const UnaryEntry& entry : kUnaryOps) {
    if (entry.opcode == opcode) return &entry;
  }
  return nullptr;
}
const BinaryEntry* FindBinary(Opcode opcode) {
  for (const BinaryEntry& entry : kBinaryOps) {
    if (entry.opcode == opcode) return &entry;
  }
  return nullptr;
}

DataType ScalarType(PrimitiveType type) { return {type, 1}; }

PrimitiveType SignedOfWidth(int bits) {
  return bits == 8    ? PrimitiveType::kS8
         : bits == 16 ? PrimitiveType::kS16
         : bits == 32 ? PrimitiveType::kS32
                      : PrimitiveType::kS64;
}
PrimitiveType UnsignedOfWidth(int bits) {
  return bits == 8    ? PrimitiveType::kU8
         : bits == 16 ? PrimitiveType::kU16
         : bits == 32 ? PrimitiveType::kU32
                      : PrimitiveType::kU64;
}

// An integer with the order -NaN < -Inf < ... < -0 < +0 < ... < +Inf < +NaN.
Expr TotalOrderKey(const Expr& x) {
  const int bits = hlo::BitWidth(x.type().element);
  const DataType integer = ScalarType(SignedOfWidth(bits));
  Expr pattern = BitCast(integer, x);
  Expr zero = IntConst(integer, 0);
  const int64_t magnitude = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return Select(Compare(CompareOp::kLt, pattern, zero), Binary(BinaryOp::kXor, pattern, IntConst(integer, magnitude)),
                pattern);
}

CompareOp DirectionOf(hlo::ComparisonDirection direction) {
  switch (direction) {
    case hlo::ComparisonDirection::kEq:
      return CompareOp::kEq;
    case hlo::ComparisonDirection::kNe:
      return CompareOp::kNe;
    case hlo::ComparisonDirection::kGe:
      return CompareOp::kGe;
    case hlo::ComparisonDirection::kGt:
      return CompareOp::kGt;
    case hlo::ComparisonDirection::kLe:
      return CompareOp::kLe;
    case hlo::ComparisonDirection::kLt:
      return CompareOp::kLt;
  }
  return CompareOp::kEq;
}

Expr CompareExpr(const hlo::CompareAttributes& attributes, Expr a, Expr b) {
  if (attributes.type == hlo::ComparisonType::kFloatTotalOrder && hlo::IsFloat(a.type().element)) {
    // Floats narrower than an integer type are ordered as the wider floats that they are.
    const DataType wide = ScalarType(hlo::BitWidth(a.type().element) < 16 ? PrimitiveType::kF32 : a.type().element);
    a = TotalOrderKey(Cast(wide, a));
    b = TotalOrderKey(Cast(wide, b));
  }
  return Compare(DirectionOf(attributes.direction), a, b);
}

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
};
FloatFormat FormatOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
      return {5, 10};
    case PrimitiveType::kBF16:
      return {8, 7};
    case PrimitiveType::kF64:
      return {11, 52};
    default:
      return {8, 23};
  }
}

// Rounds the mantissa to nearest even on the bit pattern, then moves exponents that the smaller format lacks to
// infinity or to zero (it has no denormals), keeping NaN.
Expr ReducePrecisionExpr(const hlo::ReducePrecisionAttributes& attributes, const Expr& x) {
  const PrimitiveType type = x.type().element;
  if (hlo::BitWidth(type) < 16) {
    const Expr wide = ReducePrecisionExpr(attributes, Cast(ScalarType(PrimitiveType::kF32), x));
    return Cast(ScalarType(type),
                Cast(ScalarType(ComputesInF16(type) ? PrimitiveType::kF16 : PrimitiveType::kF32), wide));
  }
  const int bits = hlo::BitWidth(type);
  const FloatFormat format = FormatOf(type);
  const DataType integer = ScalarType(UnsignedOfWidth(bits));
  auto constant = [&](uint64_t value) { return IntConst(integer, static_cast<int64_t>(value)); };
  auto binary = [](BinaryOp op, const Expr& a, const Expr& b) { return Binary(op, a, b); };

  Expr pattern = BitCast(integer, x);
  const int dropped = format.mantissa_bits - static_cast<int>(attributes.mantissa_bits);
  if (dropped > 0) {
    const uint64_t last_kept = uint64_t{1} << dropped;
    Expr odd = binary(BinaryOp::kAnd, binary(BinaryOp::kShiftRightLogical, pattern, constant(dropped)), constant(1));
    Expr bias = binary(BinaryOp::kAdd, odd, constant((last_kept >> 1) - 1));
    pattern = binary(BinaryOp::kAnd, binary(BinaryOp::kAdd, pattern, bias), constant(~(last_kept - 1)));
  }
  if (attributes.exponent_bits < format.exponent_bits) {
    const uint64_t sign_mask = uint64_t{1} << (bits - 1);
    const uint64_t exponent_mask = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
    const uint64_t bias = (uint64_t{1} << (format.exponent_bits - 1)) - 1;
    const uint64_t reduced_bias = (uint64_t{1} << (attributes.exponent_bits - 1)) - 1;
    Expr sign = binary(BinaryOp::kAnd, pattern, constant(sign_mask));
    Expr exponent = binary(BinaryOp::kAnd, pattern, constant(exponent_mask));
    Expr overflows = Compare(CompareOp::kGt, exponent, constant((bias + reduced_bias) << format.mantissa_bits));
    Expr underflows = Compare(CompareOp::kLe, exponent, constant((bias - reduced_bias) << format.mantissa_bits));
    Expr infinity = binary(BinaryOp::kOr, sign, constant(exponent_mask));
    pattern = Select(overflows, infinity, Select(underflows, sign, pattern));
  }
  Expr rounded = BitCast(ScalarType(type), pattern);
  return Select(Compare(CompareOp::kNe, x, x), x, rounded);
}

// High half of a product of two 64-bit integers, from the products of their halves. Of signed numbers: what the
// unsigned product counts too much where one is negative is taken off.
Expr Mulhi64(const Expr& a, const Expr& b) {
  const DataType word = ScalarType(PrimitiveType::kU64);
  const auto op = [](BinaryOp kind, const Expr& x, const Expr& y) { return Binary(kind, x, y); };
  const Expr mask = IntConst(word, 0xffffffff);
  const Expr half = IntConst(word, 32);
  const auto low = [&](const Expr& x) { return op(BinaryOp::kAnd, x, mask); };
  const auto high = [&](const Expr& x) { return op(BinaryOp::kShiftRightLogical, x, half); };
  const Expr x = Cast(word, a), y = Cast(word, b);
  const auto product = [&](const Expr& p, const Expr& q) { return op(BinaryOp::kMul, p, q); };
  const Expr mid = op(BinaryOp::kAdd, product(high(x), low(y)), high(product(low(x), low(y))));
  const Expr cross = op(BinaryOp::kAdd, product(low(x), high(y)), low(mid));
  Expr result = op(BinaryOp::kAdd, product(high(x), high(y)), op(BinaryOp::kAdd, high(mid), high(cross)));
  if (hlo::IsSigned(a.type().element)) {
    const Expr zero = IntConst(a.type(), 0);
    const auto extra = [&](const Expr& sign, const Expr& other) {
      return Select(Compare(CompareOp::kLt, sign, zero), other, IntConst(word, 0));
    };
    result = op(BinaryOp::kSub, op(BinaryOp::kSub, result, extra(a, y)), extra(b, x));
  }
  return Cast(a.type(), result);
}

// Away from zero where the random number, read as a fraction, is below what truncation would lose.
Expr StochasticConvertExpr(PrimitiveType to, const Expr& x, const Expr& random) {
  const DataType real = ScalarType(PrimitiveType::kF64);
  const auto op = [](BinaryOp kind, const Expr& a, const Expr& b) { return Binary(kind, a, b); };
  const int bits = hlo::BitWidth(random.type().element);
  const Expr value = Cast(real, x);
  const Expr magnitude = Unary(UnaryOp::kAbs, value);
  const Expr whole = Unary(UnaryOp::kFloor, magnitude);
  const Expr lost = op(BinaryOp::kMul, op(BinaryOp::kSub, magnitude, whole), FloatConst(real, std::exp2(bits)));
  const Expr threshold = Cast(real, Cast(ScalarType(UnsignedOfWidth(bits)), random));
  const Expr up = Select(Compare(CompareOp::kLt, threshold, lost), FloatConst(real, 1), FloatConst(real, 0));
  const Expr rounded = op(BinaryOp::kAdd, whole, up);
  const Expr negative = Compare(CompareOp::kLt, value, FloatConst(real, 0));
  return Cast(ScalarType(to), Select(negative, Unary(UnaryOp::kNegate, rounded), rounded));
}

// High half of a product of two integers.
Expr MulhiExpr(const Expr& a, const Expr& b) {
  const PrimitiveType type = a.type().element;
  if (hlo::BitWidth(type) == 64) return Mulhi64(a, b);
  const DataType wide = ScalarType(hlo::IsSigned(type) ? PrimitiveType::kS64 : PrimitiveType::kU64);
  Expr product = Binary(BinaryOp::kMul, Cast(wide, a), Cast(wide, b));
  Expr high = Binary(hlo::IsSigned(type) ? BinaryOp::kShiftRightArithmetic : BinaryOp::kShiftRightLogical, product,
                     IntConst(wide, hlo::BitWidth(type)));
  return Cast(ScalarType(type), high);
}

}  // namespace

absl::StatusOr<Expr> ElementwiseExpr(const hlo::Instruction& instruction, const std::vector<Expr>& operands) {
  const PrimitiveType type = instruction.shape().element_type;
  if (const UnaryEntry* unary = FindUnary(instruction.opcode())) {
    const PrimitiveType from = operands[0].type().element;
    if (unary->op == UnaryOp::kIsFinite) return Unary(unary->op, operands[0]);
    if (unary->op == UnaryOp::kAbs && (hlo::IsUnsigned(from) || from == PrimitiveType::kPred)) return operands[0];
    return Unary(unary->op, operands[0]);
  }
  if (const BinaryEntry* binary = FindBinary(instruction.opcode())) {
    const bool on_pred = type == PrimitiveType::kPred && binary->on_pred.has_value();
    return Binary(on_pred ? *binary->on_pred : binary->op, operands[0], operands[1]);
  }
  switch (instruction.opcode()) {
    case Opcode::kCopy:
    case Opcode::kReal:  // of a real number
      return operands[0];
    case Opcode::kImag:
      return FloatConst(ScalarType(type), 0);
    case Opcode::kConvert:
      return operands[0].type().element == type ? operands[0] : Cast(ScalarType(type), operands[0]);
    case Opcode::kBitcastConvert:
      return operands[0].type().element == type ? operands[0] : BitCast(ScalarType(type), operands[0]);
    case Opcode::kCompare:
      return CompareExpr(instruction.attributes<hlo::CompareAttributes>(), operands[0], operands[1]);
    case Opcode::kSelect:
      return Select(operands[0], operands[1], operands[2]);
    case Opcode::kClamp:
      return Binary(BinaryOp::kMin, Binary(BinaryOp::kMax, operands[0], operands[1]), operands[2]);
    case Opcode::kReducePrecision:
      return ReducePrecisionExpr(instruction.attributes<hlo::ReducePrecisionAttributes>(), operands[0]);
    case Opcode::kStochasticConvert:
      return StochasticConvertExpr(type, operands[0], operands[1]);
    case Opcode::kMulhi:
      return MulhiExpr(operands[0], operands[1]);
    default:
      return absl::UnimplementedError(absl::StrCat(
          instruction.name(), ": ", std::string(hlo::OpcodeName(instruction.opcode())), " is not an elementwise loop"));
  }
}

absl::StatusOr<std::vector<Value>> ElementwiseRule(const RuleInput& input) {
  const auto at = [&](Indices indices) -> absl::StatusOr<Expr> {
    std::vector<Expr> operands;
    for (int64_t i = 0; i < input.instruction.operand_count(); ++i) {
      // The bounds of clamp and the condition of select may be scalars.
      const bool scalar = input.operand_dimensions(i).empty();
      operands.push_back(
          input.operand(i).At(scalar ? std::vector<Expr>{} : std::vector<Expr>(indices.begin(), indices.end())));
    }
    return ElementwiseExpr(input.instruction, operands);
  };
  if (std::all_of(input.operands.begin(), input.operands.end(), [](const Value& v) { return v.IsUniform(); })) {
    SMELT_ASSIGN_OR_RETURN(Expr uniform, at({}));
    return std::vector<Value>{{{}, uniform}};
  }
  absl::Status status = absl::OkStatus();
  Value value = input.Emit([&](Indices indices) {
    absl::StatusOr<Expr> element = at(indices);
    if (element.ok()) return *element;
    status = element.status();
    return IntConst(ScalarType(input.type()), 0);
  });
  if (!status.ok()) return status;
  return std::vector<Value>{value};
}

}  // namespace smelt::kernels::te

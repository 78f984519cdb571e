// Elementwise operations: what each takes, where it is tame, and whether its result is exact.
#include <algorithm>
#include <cmath>

#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

// Where an operand must lie for the operation not to amplify rounding errors.
enum class Domain : uint8_t {
  kAll,
  kUpTo4,
  kUpTo1,
  kInsideOne,  // absolute value at most 0.875
  kPositive,   // at least 0.25
  kAboveOne,   // at least 1.25
  kExactOnly,  // it jumps
};

struct UnaryRow {
  Opcode opcode;
  TypeTest types;
  Domain domain;
  bool exact;  // as its operand
  double (*magnitude)(double);
};

double Same(double m) { return m; }
double One(double) { return 1; }
double Two(double) { return 2; }
double Four(double) { return 4; }
double Exponential(double m) { return std::exp(m); }
double Root(double m) { return std::sqrt(m) + 1; }
double Logarithm(double m) { return std::log(m + 2) + 4; }

const UnaryRow kUnaryRows[] = {
    {kAbs, [](PrimitiveType t) { return SignedElement(t) || FloatElement(t) || ComplexElement(t); }, Domain::kAll, true,
     Same},
    {kNegate, NumberElement, Domain::kAll, true, Same},
    {kCopy, AnyElement, Domain::kAll, true, Same},
    {kNot, BitsElement, Domain::kAll, true, Same},
    {kPopulationCount, IntegerElement, Domain::kAll, true, Same},
    {kClz, IntegerElement, Domain::kAll, true, Same},
    {kSign, [](PrimitiveType t) { return SignedElement(t) || FloatElement(t); }, Domain::kExactOnly, true, One},
    {kFloor, FloatElement, Domain::kExactOnly, true, Same},
    {kCeil, FloatElement, Domain::kExactOnly, true, Same},
    {kRoundNearestAfz, FloatElement, Domain::kExactOnly, true, Same},
    {kRoundNearestEven, FloatElement, Domain::kExactOnly, true, Same},
    {kIsFinite, FloatElement, Domain::kExactOnly, true, One},
    {kReal, InexactElement, Domain::kAll, true, Same},
    {kImag, InexactElement, Domain::kAll, true, Same},
    {kExp, InexactElement, Domain::kUpTo4, false, Exponential},
    {kExpm1, InexactElement, Domain::kUpTo4, false, Exponential},
    {kLog, InexactElement, Domain::kPositive, false, Logarithm},
    {kLog1p, InexactElement, Domain::kPositive, false, Logarithm},
    {kSqrt, InexactElement, Domain::kPositive, false, Root},
    {kRsqrt, InexactElement, Domain::kPositive, false, Two},
    {kCbrt, FloatElement, Domain::kPositive, false, Root},
    {kSin, InexactElement, Domain::kUpTo4, false, [](double m) { return m > 4 ? kInfinite : std::exp(m); }},
    {kCos, InexactElement, Domain::kUpTo4, false, [](double m) { return m > 4 ? kInfinite : std::exp(m); }},
    {kTan, InexactElement, Domain::kUpTo1, false, Two},
    {kTanh, FloatElement, Domain::kAll, false, One},
    {kTanh, ComplexElement, Domain::kUpTo1, false, Two},
    {kLogistic, FloatElement, Domain::kAll, false, One},
    {kLogistic, ComplexElement, Domain::kUpTo1, false, Two},
    {kErf, FloatElement, Domain::kAll, false, One},
    {kAsin, InexactElement, Domain::kInsideOne, false, Two},
    {kAcos, InexactElement, Domain::kInsideOne, false, Four},
    {kAtanh, InexactElement, Domain::kInsideOne, false, Two},
    {kAcosh, InexactElement, Domain::kAboveOne, false, Logarithm},
    {kAsinh, InexactElement, Domain::kInsideOne, false, Two},
    {kSinh, InexactElement, Domain::kUpTo4, false, Exponential},
    {kCosh, InexactElement, Domain::kUpTo4, false, Exponential},
};

Value Into(Draft& draft, const Value& x, Domain domain) {
  if (!InexactElement(x.type())) return x;
  switch (domain) {
    case Domain::kAll:
      return draft.Bounded(x, kInfinite);
    case Domain::kUpTo4:
      return draft.Bounded(x, std::min(4.0, MagnitudeLimit(x.type()) / 4));
    case Domain::kUpTo1:
      return draft.Bounded(x, 1);
    case Domain::kInsideOne:
      return draft.Bounded(x, 0.875);
    case Domain::kPositive:
      return draft.AwayFromZero(draft.Bounded(x, MagnitudeLimit(x.type())), 0.25);
    case Domain::kAboveOne:
      return draft.AwayFromZero(draft.Bounded(x, MagnitudeLimit(x.type())), 1.25);
    case Domain::kExactOnly:
      break;
  }
  return x;
}

bool AddUnary(Draft& draft, Opcode opcode) {
  std::vector<const UnaryRow*> rows;
  for (const UnaryRow& row : kUnaryRows) {
    if (row.opcode == opcode) rows.push_back(&row);
  }
  const UnaryRow& row = *draft.random.Pick(rows);
  Value x = row.domain == Domain::kExactOnly ? draft.Exact(row.types) : draft.Any(row.types);
  // Now and then outside of the tame range, where both engines know the operand to the bit: infinities and NaN.
  const bool wild = x.exact && !ComplexElement(x.type()) && InexactElement(x.type()) && draft.random.Chance(0.1);
  if (!wild) x = Into(draft, x, row.domain);
  const bool bits = BitsElement(x.type());
  const bool exact = (row.exact && x.exact && !(opcode == kAbs && ComplexElement(x.type()))) || bits;
  draft.Keep(opcode, {x}, {}, exact, wild && !row.exact ? kInfinite : row.magnitude(x.magnitude));
  return true;
}

// Two operands of one shape.
std::pair<Value, Value> Pair(Draft& draft, TypeTest types, bool exact) {
  const Value x = exact ? draft.Exact(types) : draft.Any(types);
  const Value y = exact ? draft.ExactOfShape(x.shape()) : draft.OfShape(x.shape());
  return draft.random.Chance(0.5) ? std::pair(x, y) : std::pair(y, x);
}

bool AddArithmetic(Draft& draft, Opcode opcode) {
  auto [x, y] = Pair(draft, opcode == kAdd || opcode == kMultiply ? AnyElement : NumberElement, false);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  const double limit = MagnitudeLimit(x.type());
  if (InexactElement(x.type())) {
    const double share = opcode == kMultiply ? std::sqrt(limit) : limit / 2;
    x = draft.Bounded(x, share), y = draft.Bounded(y, share);
    if (opcode == kDivide) y = draft.AwayFromZero(y, 0.5);
  }
  const double magnitude = opcode == kMultiply ? x.magnitude * y.magnitude
                           : opcode == kDivide ? 2 * x.magnitude
                                               : x.magnitude + y.magnitude;
  draft.Keep(opcode, {x, y}, {}, BitsElement(x.type()), magnitude);
  return true;
}

bool AddRemainder(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(
      draft, [](PrimitiveType t) { return IntegerElement(t) || FloatElement(t); }, true);
  draft.Keep(opcode, {x, y}, {}, BitsElement(x.type()), InexactElement(x.type()) ? kInfinite : x.magnitude);
  return true;
}

bool AddPower(Draft& draft, Opcode opcode) {
  auto [x, y] = Pair(
      draft, [](PrimitiveType t) { return IntegerElement(t) || FloatElement(t); }, false);
  if (FloatElement(x.type())) {
    x = draft.AwayFromZero(draft.Bounded(x, 2), 0.5);
    y = draft.Bounded(y, 2);
  }
  draft.Keep(opcode, {x, y}, {}, BitsElement(x.type()), 4);
  return true;
}

bool AddExtremum(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(draft, OrderedElement, false);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  draft.Keep(opcode, {x, y}, {}, x.exact && y.exact, std::max(x.magnitude, y.magnitude));
  return true;
}

bool AddBitwise(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(draft, BitsElement, false);
  draft.Keep(opcode, {x, y}, {}, true, 2);
  return true;
}

bool AddShift(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(draft, IntegerElement, false);
  draft.Keep(opcode, {x, y}, {}, true, 2);
  return true;
}

bool AddAtan2(Draft& draft, Opcode opcode) {
  auto [y, x] = Pair(draft, FloatElement, false);
  // It jumps where x is negative and y changes its sign.
  x = draft.AwayFromZero(draft.Bounded(x, MagnitudeLimit(x.type())), 0.25);
  y = draft.Bounded(y, MagnitudeLimit(y.type()));
  draft.Keep(opcode, {y, x}, {}, false, 2);
  return true;
}

bool AddComplex(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(
      draft, [](PrimitiveType t) { return t == PrimitiveType::kF32 || t == PrimitiveType::kF64; }, false);
  if (!std::isfinite(x.magnitude + y.magnitude)) return false;
  draft.Keep(opcode, {x, y}, {}, x.exact && y.exact, x.magnitude + y.magnitude);
  return true;
}

bool AddCompare(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(draft, AnyElement, true);
  hlo::CompareAttributes attributes;
  attributes.direction = static_cast<hlo::ComparisonDirection>(draft.random.Below(ComplexElement(x.type()) ? 2 : 6));
  draft.Keep(opcode, {x, y}, attributes, true, 1);
  return true;
}

bool AddSelect(Draft& draft, Opcode opcode) {
  const auto [x, y] = Pair(draft, AnyElement, false);
  const Shape chooser =
      Shape::Array(PrimitiveType::kPred, draft.random.Chance(0.2) ? std::vector<int64_t>{} : x.shape().dimensions);
  const Value predicate = draft.OfShape(chooser);
  draft.Keep(opcode, {predicate, x, y}, {}, x.exact && y.exact, std::max(x.magnitude, y.magnitude));
  return true;
}

bool AddClamp(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(OrderedElement);
  if (x.type() == PrimitiveType::kF8E8M0FNU || PredElement(x.type())) return false;
  const Shape scalar = Shape::Scalar(x.type());
  const Value low = draft.OfShape(draft.random.Chance(0.5) ? scalar : x.shape());
  const Value high = draft.OfShape(draft.random.Chance(0.5) ? scalar : x.shape());
  draft.Keep(opcode, {low, x, high}, {}, low.exact && x.exact && high.exact,
             std::max({low.magnitude, x.magnitude, high.magnitude}));
  return true;
}

bool AddConvert(Draft& draft, Opcode opcode) {
  const Value x = draft.Any(AnyElement);
  const PrimitiveType to = draft.AnyTypeOf(ComplexElement(x.type()) ? ComplexElement : AnyElement);
  const bool jumps = BitsElement(to) || to == PrimitiveType::kF8E8M0FNU;
  if (jumps && !x.exact) return false;
  double magnitude = x.magnitude;
  if (IntegerElement(x.type())) magnitude = std::exp2(hlo::BitWidth(x.type()));
  if (PredElement(x.type())) magnitude = 1;
  draft.KeepShaped(opcode, Shape::Array(to, x.shape().dimensions), {x}, {}, x.exact, magnitude);
  return true;
}

bool AddReducePrecision(Draft& draft, Opcode opcode) {
  const Value x = draft.Exact(FloatElement);
  draft.Keep(opcode, {x}, hlo::ReducePrecisionAttributes{draft.random.Between(3, 11), draft.random.Between(0, 23)},
             true, kInfinite);
  return true;
}

// The random bits decide which neighbour it becomes.
bool AddStochasticConvert(Draft& draft, Opcode opcode) {
  const Value x =
      draft.Exact([](PrimitiveType t) { return FloatElement(t) && hlo::BitWidth(t) >= 16 && hlo::BitWidth(t) <= 32; });
  const PrimitiveType bits = hlo::BitWidth(x.type()) == 32 ? PrimitiveType::kU32 : PrimitiveType::kU16;
  static const std::vector<PrimitiveType> kTargets = {PrimitiveType::kS8, PrimitiveType::kS16, PrimitiveType::kS32};
  const PrimitiveType to = draft.random.Pick(kTargets);
  const Value random = draft.ExactOfShape(Shape::Array(bits, x.shape().dimensions));
  draft.KeepShaped(opcode, Shape::Array(to, x.shape().dimensions), {x, random}, {}, true, x.magnitude);
  return true;
}

// Bits of a parameter or a constant: signs of zeros and of NaN are the operations' own.
bool AddBitcastConvert(Draft& draft, Opcode opcode) {
  const Value x = draft.Exact(AnyElement);
  if (PredElement(x.type()) || ComplexElement(x.type()) || hlo::BitWidth(x.type()) < 8) return false;
  if (!BitsElement(x.type()) && x.instruction->opcode() != kParameter) return false;
  static const std::vector<PrimitiveType> kTargets = {PrimitiveType::kU8,  PrimitiveType::kS8,  PrimitiveType::kU16,
                                                      PrimitiveType::kS16, PrimitiveType::kF16, PrimitiveType::kBF16,
                                                      PrimitiveType::kU32, PrimitiveType::kS32, PrimitiveType::kF32,
                                                      PrimitiveType::kU64, PrimitiveType::kS64, PrimitiveType::kF64};
  const PrimitiveType to = draft.random.Pick(kTargets);
  const int from_bits = hlo::BitWidth(x.type()), to_bits = hlo::BitWidth(to);
  std::vector<int64_t> dimensions = x.shape().dimensions;
  if (to_bits < from_bits) {
    dimensions.push_back(from_bits / to_bits);
  } else if (to_bits > from_bits) {
    if (dimensions.empty() || dimensions.back() != to_bits / from_bits) return false;
    dimensions.pop_back();
  }
  draft.KeepShaped(opcode, Shape::Array(to, std::move(dimensions)), {x}, {}, true, BitsElement(to) ? 2 : kInfinite);
  return true;
}

const OpcodeRule kElementwiseRules[] = {
    {kAdd, 8, AddArithmetic},
    {kSubtract, 6, AddArithmetic},
    {kMultiply, 8, AddArithmetic},
    {kDivide, 5, AddArithmetic},
    {kRemainder, 2, AddRemainder},
    {kPower, 2, AddPower},
    {kMaximum, 4, AddExtremum},
    {kMinimum, 4, AddExtremum},
    {kAnd, 2, AddBitwise},
    {kOr, 2, AddBitwise},
    {kXor, 2, AddBitwise},
    {kShiftLeft, 2, AddShift},
    {kShiftRightArithmetic, 2, AddShift},
    {kShiftRightLogical, 2, AddShift},
    {kAtan2, 1, AddAtan2},
    {kComplex, 1, AddComplex},
    {kCompare, 5, AddCompare},
    {kSelect, 5, AddSelect},
    {kClamp, 3, AddClamp},
    {kConvert, 7, AddConvert},
    {kReducePrecision, 1, AddReducePrecision},
    {kBitcastConvert, 2, AddBitcastConvert},
    {kStochasticConvert, 1, AddStochasticConvert},
    {kMulhi, 1, AddShift},
    {kAbs, 2, AddUnary},
    {kNegate, 3, AddUnary},
    {kCopy, 1, AddUnary},
    {kNot, 1, AddUnary},
    {kPopulationCount, 1, AddUnary},
    {kClz, 1, AddUnary},
    {kSign, 1, AddUnary},
    {kFloor, 1, AddUnary},
    {kCeil, 1, AddUnary},
    {kRoundNearestAfz, 1, AddUnary},
    {kRoundNearestEven, 1, AddUnary},
    {kIsFinite, 1, AddUnary},
    {kReal, 1, AddUnary},
    {kImag, 1, AddUnary},
    {kExp, 2, AddUnary},
    {kExpm1, 1, AddUnary},
    {kLog, 2, AddUnary},
    {kLog1p, 1, AddUnary},
    {kSqrt, 2, AddUnary},
    {kRsqrt, 2, AddUnary},
    {kCbrt, 1, AddUnary},
    {kSin, 1, AddUnary},
    {kCos, 1, AddUnary},
    {kTan, 1, AddUnary},
    {kTanh, 2, AddUnary},
    {kLogistic, 2, AddUnary},
    {kErf, 1, AddUnary},
    {kAsin, 1, AddUnary},
    {kAcos, 1, AddUnary},
    {kAtanh, 1, AddUnary},
    {kAcosh, 1, AddUnary},
    {kAsinh, 1, AddUnary},
    {kSinh, 1, AddUnary},
    {kCosh, 1, AddUnary},
};

}  // namespace

absl::Span<const OpcodeRule> ElementwiseRules() { return kElementwiseRules; }

}  // namespace smelt::fuzz

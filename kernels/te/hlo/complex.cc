// Complex numbers as pairs of real ones: each part of a result is an operation of its own, which inlining makes part of
// what reads it. In memory the parts lie side by side: the last dimension is twice as long (ComplexInput,
// ComplexOutput).
#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/literal.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

using hlo::Opcode;

// Parts of operands, in order: of a complex operand two, of a real one one.
using Parts = std::vector<Expr>;
struct PairEntry {
  Opcode opcode;
  Expr (*real)(const hlo::Instruction& instruction, const Parts& x);
  Expr (*imaginary)(const hlo::Instruction& instruction, const Parts& x);  // null: the result is real
};

Expr Mul(const Expr& a, const Expr& b) { return Binary(BinaryOp::kMul, a, b); }
Expr Add(const Expr& a, const Expr& b) { return Binary(BinaryOp::kAdd, a, b); }
Expr Sub(const Expr& a, const Expr& b) { return Binary(BinaryOp::kSub, a, b); }

DataType PartType(const hlo::Instruction& instruction) {
  const PrimitiveType type = instruction.shape().element_type;
  return {hlo::IsComplex(type) ? hlo::ComplexPart(type) : type, 1};
}

Expr CastTo(DataType type, const Expr& x) { return x.type() == type ? x : Cast(type, x); }

constexpr DataType kWide{PrimitiveType::kF64, 1};

Expr WideConst(double value) { return FloatConst(kWide, value); }
Expr IsNan(const Expr& x) { return Compare(CompareOp::kNe, x, x); }
Expr IsInfinite(const Expr& x) { return Compare(CompareOp::kEq, Unary(UnaryOp::kAbs, x), WideConst(HUGE_VAL)); }
Expr IsFinite(const Expr& x) { return Unary(UnaryOp::kIsFinite, x); }
Expr IsZero(const Expr& x) { return Compare(CompareOp::kEq, x, WideConst(0)); }
// 1 or -1 for what is infinite, else 0.
Expr Boxed(const Expr& x) { return Select(IsInfinite(x), Unary(UnaryOp::kSign, x), WideConst(0)); }

// The magnitude of a number of two f32, whose squares neither overflow nor vanish in f64.
Expr Magnitude(const hlo::Instruction& instruction, const Parts& x) {
  const Expr re = Cast(kWide, x[0]), im = Cast(kWide, x[1]);
  const Expr root = Unary(UnaryOp::kSqrt, Add(Mul(re, re), Mul(im, im)));
  return Cast(PartType(instruction), Select(Or(IsInfinite(re), IsInfinite(im)), WideConst(HUGE_VAL), root));
}

// e^re (cos im, sin im). Nothing is infinite times zero: an angle of zero stays real, and nothing times the cosine of
// infinity is nothing (C11, Annex G.6.3.1).
Expr ExponentialPart(const hlo::Instruction& exponential, const Parts& x, UnaryOp of_angle) {
  const Expr size = Unary(UnaryOp::kExp, x[0]), angle = x[1];
  const auto is_zero = [&](const Expr& y) { return Compare(CompareOp::kEq, y, FloatConst(PartType(exponential), 0)); };
  const Expr product = Select(is_zero(size), size, Mul(size, Unary(of_angle, angle)));
  return Select(is_zero(angle), of_angle == UnaryOp::kCos ? size : angle, product);
}

// The one constant that all elements are divided by, where it is one that can be divided by.
std::optional<std::complex<double>> Divisor(const hlo::Instruction& divide) {
  const hlo::Instruction* divisor = divide.operand(1);
  while (divisor->opcode() == Opcode::kBroadcast) divisor = divisor->operand(0);
  if (divisor->opcode() != Opcode::kConstant || divisor->literal().element_count() != 1) return std::nullopt;
  const std::complex<double> value = divisor->literal().GetComplex(0);
  if (!std::isfinite(value.real()) || !std::isfinite(value.imag()) || value == 0.0) return std::nullopt;
  return value;
}

// One part of a quotient, in f64. Where the plain formula gives no number for either part, infinities are recovered
// (C11, Annex G.5.1); a dividend whose real part is no number has two such parts, as XLA has it. Squares of f32 neither
// overflow nor vanish; those of other divisors are constants, and scaled by a power of two.
Expr QuotientPart(const hlo::Instruction& divide, const Parts& x, bool imaginary) {
  const Expr a = CastTo(kWide, x[0]), b = CastTo(kWide, x[1]);
  Expr c = CastTo(kWide, x[2]), d = CastTo(kWide, x[3]);
  double scale = 1;
  if (const auto divisor = Divisor(divide)) {
    const int exponent = std::ilogb(std::max(std::abs(divisor->real()), std::abs(divisor->imag())));
    scale = std::exp2(-std::clamp(exponent, -1000, 1000));
    c = WideConst(divisor->real() * scale);
    d = WideConst(divisor->imag() * scale);
  }
  const auto numerator = [](const Expr& p, const Expr& q, const Expr& r, const Expr& s, bool im) {
    return im ? Sub(Mul(q, r), Mul(p, s)) : Add(Mul(p, r), Mul(q, s));
  };
  const Expr squares = Add(Mul(c, c), Mul(d, d));
  const auto quotient = [&](bool im) {
    const Expr plain = Binary(BinaryOp::kDiv, numerator(a, b, c, d, im), squares);
    return scale == 1 ? plain : Mul(plain, WideConst(scale));
  };
  const Expr infinite = Mul(numerator(Boxed(a), Boxed(b), c, d, imaginary), WideConst(HUGE_VAL));
  Expr recovered =
      Select(And(Or(IsInfinite(a), IsInfinite(b)), And(IsFinite(c), IsFinite(d))), infinite, quotient(imaginary));
  if (!Divisor(divide)) {
    const DataType bits{PrimitiveType::kS64, 1};
    const Expr signed_infinity =
        Select(Compare(CompareOp::kLt, BitCast(bits, c), IntConst(bits, 0)), WideConst(-HUGE_VAL), WideConst(HUGE_VAL));
    const Expr by_zero = Mul(signed_infinity, imaginary ? b : a);
    const Expr nothing = Mul(numerator(a, b, Boxed(c), Boxed(d), imaginary), WideConst(0));
    recovered = Select(And(Or(IsInfinite(c), IsInfinite(d)), And(IsFinite(a), IsFinite(b))), nothing, recovered);
    recovered = Select(And(IsZero(squares), Or(Not(IsNan(a)), Not(IsNan(b)))), by_zero, recovered);
  }
  const Expr lost = And(IsNan(quotient(false)), IsNan(quotient(true)));
  return CastTo(PartType(divide), Select(IsNan(a), a, Select(lost, recovered, quotient(imaginary))));
}

// XLA:CPU orders complex numbers so: < and > by the real and then by the imaginary part, <= and >= by the real part.
Expr Comparison(const hlo::Instruction& instruction, const Parts& x) {
  const auto lexicographic = [&](CompareOp op) {
    return Or(Compare(op, x[0], x[2]), And(Compare(CompareOp::kEq, x[0], x[2]), Compare(op, x[1], x[3])));
  };
  switch (instruction.attributes<hlo::CompareAttributes>().direction) {
    case hlo::ComparisonDirection::kEq:
      return And(Compare(CompareOp::kEq, x[0], x[2]), Compare(CompareOp::kEq, x[1], x[3]));
    case hlo::ComparisonDirection::kNe:
      return Or(Compare(CompareOp::kNe, x[0], x[2]), Compare(CompareOp::kNe, x[1], x[3]));
    case hlo::ComparisonDirection::kLe:
      return Compare(CompareOp::kLe, x[0], x[2]);
    case hlo::ComparisonDirection::kGe:
      return Compare(CompareOp::kGe, x[0], x[2]);
    case hlo::ComparisonDirection::kLt:
      return lexicographic(CompareOp::kLt);
    case hlo::ComparisonDirection::kGt:
      break;
  }
  return lexicographic(CompareOp::kGt);
}

// Where two have one real part the first one is taken.
template <CompareOp kOp, int kPart>
Expr Extreme(const hlo::Instruction&, const Parts& x) {
  return Select(Compare(kOp, x[0], x[2]), x[kPart], x[kPart + 2]);
}

constexpr PairEntry kPairs[] = {
    {Opcode::kMultiply, [](const hlo::Instruction&, const Parts& x) { return Sub(Mul(x[0], x[2]), Mul(x[1], x[3])); },
     [](const hlo::Instruction&, const Parts& x) { return Add(Mul(x[0], x[3]), Mul(x[1], x[2])); }},
    {Opcode::kDivide, [](const hlo::Instruction& divide, const Parts& x) { return QuotientPart(divide, x, false); },
     [](const hlo::Instruction& divide, const Parts& x) { return QuotientPart(divide, x, true); }},
    {Opcode::kExp, [](const hlo::Instruction& i, const Parts& x) { return ExponentialPart(i, x, UnaryOp::kCos); },
     [](const hlo::Instruction& i, const Parts& x) { return ExponentialPart(i, x, UnaryOp::kSin); }},
    {Opcode::kComplex, [](const hlo::Instruction&, const Parts& x) { return x[0]; },
     [](const hlo::Instruction&, const Parts& x) { return x[1]; }},
    {Opcode::kReal, [](const hlo::Instruction&, const Parts& x) { return x[0]; }, nullptr},
    {Opcode::kImag, [](const hlo::Instruction&, const Parts& x) { return x[1]; }, nullptr},
    {Opcode::kAbs, Magnitude, nullptr},
    {Opcode::kCompare, Comparison, nullptr},
    {Opcode::kMaximum, Extreme<CompareOp::kGe, 0>, Extreme<CompareOp::kGe, 1>},
    {Opcode::kMinimum, Extreme<CompareOp::kLe, 0>, Extreme<CompareOp::kLe, 1>},
    {Opcode::kConvert, [](const hlo::Instruction& convert, const Parts& x) { return CastTo(PartType(convert), x[0]); },
     [](const hlo::Instruction& convert, const Parts& x) {
       return x.size() == 2 ? CastTo(PartType(convert), x[1]) : FloatConst(PartType(convert), 0);
     }},
};

// Null: the real rule says what either part of the result is, from that part of the operands.
const PairEntry* FindPair(Opcode opcode) {
  const auto* entry =
      std::find_if(std::begin(kPairs), std::end(kPairs), [&](const PairEntry& e) { return e.opcode == opcode; });
  return entry == std::end(kPairs) ? nullptr : entry;
}

// One part of an elementwise result.
Value Part(const RuleInput& input, absl::Span<const std::vector<Value>> operands,
           Expr (*of)(const hlo::Instruction&, const Parts&), const char* suffix) {
  const auto at = [&](Indices indices) {
    Parts parts;
    for (size_t i = 0; i < operands.size(); ++i) {
      for (const Value& part : operands[i]) {
        parts.push_back(part.At(input.operand_dimensions(static_cast<int64_t>(i)).empty()
                                    ? std::vector<Expr>{}
                                    : std::vector<Expr>(indices.begin(), indices.end())));
      }
    }
    return of(input.instruction, parts);
  };
  const bool uniform = std::all_of(operands.begin(), operands.end(), [](const std::vector<Value>& parts) {
    return std::all_of(parts.begin(), parts.end(), [](const Value& part) { return part.IsUniform(); });
  });
  if (uniform) return {{}, at({})};
  return RuleInput{input.instruction, {}, absl::StrCat(input.name, suffix)}.Emit(at);
}

}  // namespace

absl::StatusOr<std::vector<Value>> ComplexRule(const RuleInput& input, Rule rule,
                                               absl::Span<const std::vector<Value>> operands) {
  if (const PairEntry* pair = FindPair(input.instruction.opcode())) {
    std::vector<Value> results = {Part(input, operands, pair->real, "_re")};
    if (pair->imaginary != nullptr) results.push_back(Part(input, operands, pair->imaginary, "_im"));
    return results;
  }
  std::vector<Value> results;
  for (size_t part = 0; part < 2; ++part) {
    RuleInput of_part{input.instruction,
                      {},
                      absl::StrCat(input.name, part == 0 ? "_re" : "_im"),
                      part == 0 ? NumberPart::kReal : NumberPart::kImaginary};
    for (const std::vector<Value>& operand : operands)
      of_part.operands.push_back(operand[operand.size() == 2 ? part : 0]);
    SMELT_ASSIGN_OR_RETURN(const std::vector<Value> made, rule(of_part));
    results.push_back(made[0]);
  }
  return results;
}

std::vector<int64_t> PairDimensions(std::vector<int64_t> dimensions) {
  if (dimensions.empty()) return {2};
  dimensions.back() *= 2;
  return dimensions;
}

std::vector<Value> ComplexInput(const Tensor& pairs, const std::vector<int64_t>& dimensions, const std::string& name) {
  std::vector<Value> parts;
  for (int64_t part = 0; part < 2; ++part) {
    const auto at = [&](Indices indices) {
      std::vector<Expr> position(indices.begin(), indices.end());
      if (position.empty()) return pairs({Expr(part)});
      position.back() = position.back() * 2 + part;
      return pairs(position);
    };
    parts.push_back({Compute(absl::StrCat(name, part == 0 ? "_re" : "_im"), dimensions, at, "parts"), Expr()});
  }
  return parts;
}

Tensor ComplexOutput(const Value& real, const Value& imaginary, const std::vector<int64_t>& dimensions,
                     std::string name) {
  const auto at = [&](Indices indices) {
    std::vector<Expr> position(indices.begin(), indices.end());
    const Expr part = FloorMod(position.back(), 2);
    position.back() = FloorDiv(position.back(), 2);
    if (dimensions.empty()) position.clear();
    return Select(part == 0, real.At(position), imaginary.At(position));
  };
  return Compute(std::move(name), PairDimensions(dimensions), at, "pairs");
}

}  // namespace smelt::kernels::te

// Elementwise operations: the operands have one shape, and so has the result.
#include <array>

#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

using enum Opcode;

// Kinds of element types, as bits.
enum Kinds : uint8_t {
  kPredBit = 1,
  kSignedBit = 2,
  kUnsignedBit = 4,
  kFloatBit = 8,
  kComplexBit = 16,
  kIntegers = kSignedBit | kUnsignedBit,
  kInexact = kFloatBit | kComplexBit,
  kNumbers = kIntegers | kInexact,
  kAll = kNumbers | kPredBit,
};

uint8_t KindBit(PrimitiveType type) { return IsArrayType(type) ? 1 << static_cast<int>(TypeInfo(type).kind) : 0; }
static_assert(1 << static_cast<int>(TypeKind::kPredKind) == kPredBit &&
              1 << static_cast<int>(TypeKind::kComplexKind) == kComplexBit);

struct ElementRule {
  uint8_t kinds;  // of the operands
  enum { kSame, kRealPart, kPredicate, kMakeComplex } result;
};

ElementRule RuleFor(Opcode opcode) {
  struct Row {
    ElementRule rule;
    std::vector<Opcode> opcodes;
  };
  static const Row rows[] = {
      {{kFloatBit, ElementRule::kSame}, {kFloor, kCeil, kRoundNearestAfz, kRoundNearestEven, kErf, kReducePrecision}},
      {{kInexact, ElementRule::kSame}, {kAcos,  kAcosh, kAsin,  kAsinh,    kAtanh, kAtan2, kCbrt, kCos,  kCosh, kExp,
                                        kExpm1, kLog,   kLog1p, kLogistic, kRsqrt, kSin,   kSinh, kSqrt, kTan,  kTanh}},
      {{kInexact, ElementRule::kRealPart}, {kReal, kImag}},
      {{kSignedBit | kInexact, ElementRule::kRealPart}, {kAbs}},
      {{kSignedBit | kInexact, ElementRule::kSame}, {kSign}},
      {{kNumbers, ElementRule::kSame}, {kNegate, kDivide, kRemainder, kPower, kSubtract}},
      {{kIntegers, ElementRule::kSame},
       {kClz, kPopulationCount, kMulhi, kShiftLeft, kShiftRightArithmetic, kShiftRightLogical}},
      {{kIntegers | kPredBit, ElementRule::kSame}, {kNot, kAnd, kOr, kXor}},
      {{kFloatBit, ElementRule::kPredicate}, {kIsFinite}},
      {{kAll, ElementRule::kSame}, {kAdd, kMultiply, kMaximum, kMinimum, kCopy}},
      {{kAll, ElementRule::kPredicate}, {kCompare}},
      {{kFloatBit, ElementRule::kMakeComplex}, {kComplex}},
  };
  static const auto& by_opcode = *[] {
    auto* made = new std::array<ElementRule, kOpcodeCount>{};
    for (const Row& row : rows) {
      for (Opcode opcode : row.opcodes) (*made)[static_cast<int>(opcode)] = row.rule;
    }
    return made;
  }();
  return by_opcode[static_cast<int>(opcode)];
}

std::string KindNames(uint8_t kinds) {
  static constexpr std::pair<uint8_t, std::string_view> kNames[] = {{kPredBit, "pred"},
                                                                    {kSignedBit, "signed"},
                                                                    {kUnsignedBit, "unsigned"},
                                                                    {kFloatBit, "floating-point"},
                                                                    {kComplexBit, "complex"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if (kinds & bit) StrAppend(&text, text.empty() ? "" : ", ", name);
  }
  return text;
}

absl::StatusOr<PrimitiveType> ResultType(const Request& request, PrimitiveType type) {
  const ElementRule rule = RuleFor(request.opcode);
  if ((KindBit(type) & rule.kinds) == 0) {
    return Refuse(request, "takes elements that are ", KindNames(rule.kinds), ", not ", Describe(request, 0));
  }
  switch (rule.result) {
    case ElementRule::kPredicate:
      return PrimitiveType::kPred;
    case ElementRule::kRealPart:
      return IsComplex(type) ? ComplexPart(type) : type;
    case ElementRule::kMakeComplex:
      if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64) {
        return Refuse(request, "takes f32 or f64, not ", Describe(request, 0));
      }
      return ComplexOf(type);
    case ElementRule::kSame:
      break;
  }
  return type;
}

// Dimensions of both; where one has an unknown or dynamic size, the other's says more.
absl::Status MergeDimensions(const Request& request, int64_t operand, Shape* shape) {
  const Shape& other = request.shape(operand);
  bool same = other.dimensions.size() == shape->dimensions.size();
  for (size_t i = 0; same && i < shape->dimensions.size(); ++i) {
    same = SizesAgree(shape->dimensions[i], other.dimensions[i]);
    if (shape->dimensions[i] == kUnboundedSize) shape->dimensions[i] = other.dimensions[i];
  }
  if (!same)
    return Refuse(request, "operands must have the same dimensions, are ", Describe(request, 0), " and ",
                  Describe(request, operand));
  if (!other.dynamic.empty()) {
    shape->dynamic.resize(shape->dimensions.size());
    for (size_t i = 0; i < other.dynamic.size(); ++i) shape->dynamic[i] = shape->dynamic[i] || other.dynamic[i];
  }
  return absl::OkStatus();
}

}  // namespace

bool ElementwiseFitsAtAGlance(const Request& request) {
  if (request.operands.empty() || request.declared == nullptr) return false;
  const Shape &result = *request.declared, &first = request.shape(0);
  if (first.dimensions != result.dimensions || !first.IsArray() || !result.IsArray()) return false;
  for (const Instruction* operand : request.operands) {
    if (operand->shape().element_type != first.element_type || operand->shape().dimensions != first.dimensions)
      return false;
  }
  const ElementRule rule = RuleFor(request.opcode);
  if ((KindBit(first.element_type) & rule.kinds) == 0) return false;
  if (rule.result == ElementRule::kPredicate)
    return result.element_type == PrimitiveType::kPred && !IsComplex(first.element_type);
  return rule.result == ElementRule::kSame && result.element_type == first.element_type;
}

absl::StatusOr<Shape> ElementwiseUnary(const Request& request) {
  if (request.opcode == kCopy) return request.shape(0);
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  Shape shape = request.shape(0);
  SMELT_ASSIGN_OR_RETURN(shape.element_type, ResultType(request, shape.element_type));
  return shape;
}

absl::StatusOr<Shape> ElementwiseBinary(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  Shape shape = request.shape(0);
  if (shape.element_type != request.shape(1).element_type) {
    return Refuse(request, "operands must have the same element type, are ", Describe(request, 0), " and ",
                  Describe(request, 1));
  }
  SMELT_RETURN_IF_ERROR(MergeDimensions(request, 1, &shape));
  SMELT_ASSIGN_OR_RETURN(shape.element_type, ResultType(request, shape.element_type));
  return shape;
}

absl::StatusOr<Shape> Select(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  if (request.shape(0).element_type != PrimitiveType::kPred) {
    return Refuse(request, "operand 0 must be pred, is ", Describe(request, 0));
  }
  Shape shape = request.shape(1);
  if (shape.IsTuple() && request.shape(0).IsScalar() && shape.SameAs(request.shape(2))) return shape;
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 2));
  if (shape.element_type != request.shape(2).element_type) {
    return Refuse(request, "operands 1 and 2 must have the same element type, are ", Describe(request, 1), " and ",
                  Describe(request, 2));
  }
  SMELT_RETURN_IF_ERROR(MergeDimensions(request, 2, &shape));
  if (!request.shape(0).IsScalar()) SMELT_RETURN_IF_ERROR(MergeDimensions(request, 0, &shape));
  return shape;
}

absl::StatusOr<Shape> Clamp(const Request& request) {
  for (int64_t i = 0; i < 3; ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    if (request.shape(i).element_type != request.shape(1).element_type) {
      return Refuse(request, "operands must have the same element type, are ", Describe(request, 1), " and ",
                    Describe(request, i));
    }
  }
  Shape shape = request.shape(1);
  for (int64_t i : {0, 2}) {
    if (!request.shape(i).IsScalar()) SMELT_RETURN_IF_ERROR(MergeDimensions(request, i, &shape));
  }
  return shape;
}

absl::StatusOr<Shape> Convert(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_ASSIGN_OR_RETURN(const Shape declared, DeclaredArray(request));
  if (IsComplex(request.shape(0).element_type) && !IsComplex(declared.element_type)) {
    return Refuse(request, "a complex number converts to complex only, not to ", declared.ToString(),
                  "; use real or imag");
  }
  Shape shape = request.shape(0);
  shape.element_type = declared.element_type;
  return shape;
}

absl::StatusOr<Shape> StochasticConvert(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(const Shape declared, DeclaredArray(request));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  if (!IsUnsigned(request.shape(1).element_type) ||
      BitWidth(request.shape(1).element_type) != BitWidth(request.shape(0).element_type)) {
    return Refuse(request, "operand 1 must be unsigned integers as wide as operand 0, ", Describe(request, 0), ", is ",
                  Describe(request, 1));
  }
  Shape shape = request.shape(0);
  SMELT_RETURN_IF_ERROR(MergeDimensions(request, 1, &shape));
  shape.element_type = declared.element_type;
  return shape;
}

// Elements of another width come out as one more or one less minor dimension.
absl::StatusOr<Shape> BitcastConvert(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_ASSIGN_OR_RETURN(const Shape declared, DeclaredArray(request));
  const PrimitiveType from = request.shape(0).element_type, to = declared.element_type;
  if (IsComplex(from) != IsComplex(to))
    return Refuse(request, "no bits of ", Describe(request, 0), " can be those of ", declared.ToString());
  Shape shape = request.shape(0);
  const int from_bits = BitWidth(from), to_bits = BitWidth(to);
  shape.element_type = to;
  if (from_bits == to_bits) return shape;
  shape.layout.reset();
  if (from_bits > to_bits) {
    shape.dimensions.push_back(from_bits / to_bits);
    if (!shape.dynamic.empty()) shape.dynamic.push_back(false);
    return shape;
  }
  if (shape.dimensions.empty() || !SizesAgree(shape.dimensions.back(), to_bits / from_bits)) {
    return Refuse(request, "the last dimension of ", Describe(request, 0), " must be ", to_bits / from_bits,
                  " to make ", declared.ToString());
  }
  shape.dimensions.pop_back();
  if (!shape.dynamic.empty()) shape.dynamic.pop_back();
  return shape;
}

absl::StatusOr<Shape> Map(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an operand at least");
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  Shape shape = request.shape(0);
  std::vector<Shape> scalars;
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    SMELT_RETURN_IF_ERROR(MergeDimensions(request, i, &shape));
    scalars.push_back(Shape::Scalar(request.shape(i).element_type));
  }
  SMELT_RETURN_IF_ERROR(ExpectParameters(request, *request.called[0], scalars));
  const Shape& result = request.called[0]->root()->shape();
  if (!result.IsScalar())
    return Refuse(request, "computation `", request.called[0]->name(), "` must give a scalar, gives ",
                  result.ToString());
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] != static_cast<int64_t>(i))
      return Refuse(request, "dimensions must be 0, 1, 2, ..., are ", ToString(dimensions));
  }
  if (!dimensions.empty() && static_cast<int64_t>(dimensions.size()) != shape.rank()) {
    return Refuse(request, "dimensions ", ToString(dimensions), " must be all of ", Describe(request, 0));
  }
  shape.element_type = result.element_type;
  return shape;
}

}  // namespace smelt::hlo::shape_inference

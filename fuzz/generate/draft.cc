#include "fuzz/generate/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/str_cat.h"
#include "hlo/shape_inference/shape_inference.h"

namespace smelt::fuzz {

using hlo::Literal;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

bool AnyElement(PrimitiveType type) { return hlo::IsArrayType(type); }
bool PredElement(PrimitiveType type) { return type == PrimitiveType::kPred; }
bool IntegerElement(PrimitiveType type) { return hlo::IsInteger(type); }
bool SignedElement(PrimitiveType type) { return hlo::IsSigned(type); }
bool BitsElement(PrimitiveType type) { return IntegerElement(type) || PredElement(type); }
bool FloatElement(PrimitiveType type) { return hlo::IsFloat(type) && type != PrimitiveType::kF8E8M0FNU; }
bool ComplexElement(PrimitiveType type) { return hlo::IsComplex(type); }
bool InexactElement(PrimitiveType type) { return FloatElement(type) || ComplexElement(type); }
bool NumberElement(PrimitiveType type) { return InexactElement(type) || IntegerElement(type); }
bool OrderedElement(PrimitiveType type) { return AnyElement(type) && !ComplexElement(type); }

double MagnitudeLimit(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF4E2M1FN:
      return 2;
    case PrimitiveType::kF8E3M4:
      return 4;
    case PrimitiveType::kF6E2M3FN:
    case PrimitiveType::kF6E3M2FN:
      return 4;
    case PrimitiveType::kF8E4M3:
    case PrimitiveType::kF8E4M3FN:
    case PrimitiveType::kF8E4M3FNUZ:
    case PrimitiveType::kF8E4M3B11FNUZ:
      return 8;
    default:
      return 64;
  }
}

bool AllExact(const std::vector<Value>& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& value) { return value.exact; });
}

double LargestMagnitude(const std::vector<Value>& values) {
  double largest = 0;
  for (const Value& value : values) largest = std::max(largest, value.magnitude);
  return largest;
}

std::vector<hlo::Instruction*> Instructions(const std::vector<Value>& values) {
  std::vector<hlo::Instruction*> instructions;
  for (const Value& value : values) instructions.push_back(value.instruction);
  return instructions;
}

PrimitiveType Draft::AnyTypeOf(TypeTest test) {
  std::vector<PrimitiveType> fitting;
  for (PrimitiveType type : palette.types) {
    if (test(type)) fitting.push_back(type);
  }
  if (!fitting.empty()) return random.Pick(fitting);
  for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kS32, PrimitiveType::kPred, PrimitiveType::kC64}) {
    if (test(type)) return type;
  }
  Check(false, "a class of element types has none of f32, s32, pred and c64");
  return PrimitiveType::kF32;
}

Shape Draft::AnyShape(TypeTest test, int64_t min_rank, int64_t max_rank) {
  static const std::vector<int64_t> kRanks = {0, 1, 1, 2, 2, 2, 3, 3, 4};
  const int64_t rank = std::clamp(random.Pick(kRanks), min_rank, max_rank);
  std::vector<int64_t> dimensions;
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t size = AnySize();
    while (size > 1 && elements * size > palette.largest) size /= 2;
    dimensions.push_back(size);
    elements *= std::max<int64_t>(size, 1);
  }
  return Shape::Array(AnyTypeOf(test), std::move(dimensions));
}

Value Draft::Any(TypeTest test, int64_t min_rank, int64_t max_rank) {
  std::vector<Value> fitting;
  for (const Value& value : values_) {
    if (test(value.type()) && value.shape().rank() >= min_rank && value.shape().rank() <= max_rank)
      fitting.push_back(value);
  }
  if (!fitting.empty() && !random.Chance(0.15)) {
    // Late values more often than early ones, so that graphs grow deep.
    const int64_t count = static_cast<int64_t>(fitting.size());
    return fitting[std::max(random.Below(count), random.Below(count))];
  }
  return Parameter(AnyShape(test, min_rank, max_rank));
}

Value Draft::Exact(TypeTest test, int64_t min_rank, int64_t max_rank) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Value value = Any(test, min_rank, max_rank);
    if (value.exact) return value;
  }
  return Parameter(AnyShape(test, min_rank, max_rank));
}

Value Draft::OfShape(const Shape& shape) {
  std::vector<Value> fitting, converts, reshapes, broadcasts;
  for (const Value& value : values_) {
    const Shape& other = value.shape();
    const bool same_type = other.element_type == shape.element_type;
    if (other.SameAs(shape)) {
      fitting.push_back(value);
    } else if (other.dimensions == shape.dimensions) {
      const bool to_bits = BitsElement(shape.element_type) || shape.element_type == PrimitiveType::kF8E8M0FNU;
      if ((!ComplexElement(other.element_type) || ComplexElement(shape.element_type)) && (value.exact || !to_bits))
        converts.push_back(value);
    } else if (same_type && other.ElementCount() == shape.ElementCount()) {
      reshapes.push_back(value);
    } else if (same_type && other.rank() < shape.rank()) {
      broadcasts.push_back(value);
    }
  }
  const int64_t choice = random.Below(16);
  if (!fitting.empty() && choice < 11) return random.Pick(fitting);
  if (!converts.empty() && choice < 13) {
    const Value from = random.Pick(converts);
    double magnitude = from.magnitude;
    if (BitsElement(from.type())) magnitude = PredElement(from.type()) ? 1 : std::exp2(hlo::BitWidth(from.type()));
    return KeepShaped(Opcode::kConvert, shape, {from}, {}, from.exact, magnitude);
  }
  if (!reshapes.empty() && choice < 14) {
    const Value from = random.Pick(reshapes);
    return KeepShaped(Opcode::kReshape, shape, {from}, {}, from.exact, from.magnitude);
  }
  if (!broadcasts.empty() && choice < 15) {
    const Value from = random.Pick(broadcasts);
    // The first dimensions of the shape that have the sizes, in order.
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; d < shape.rank() && static_cast<int64_t>(dimensions.size()) < from.shape().rank(); ++d) {
      if (shape.dimensions[d] == from.shape().dimensions[dimensions.size()]) dimensions.push_back(d);
    }
    if (static_cast<int64_t>(dimensions.size()) == from.shape().rank()) {
      return KeepShaped(Opcode::kBroadcast, shape, {from}, hlo::DimensionsAttributes{std::move(dimensions)}, from.exact,
                        from.magnitude);
    }
  }
  if (!fitting.empty() && random.Chance(0.7)) return random.Pick(fitting);
  return random.Chance(0.2) ? RandomConstant(shape) : Parameter(shape);
}

Value Draft::ExactOfShape(const Shape& shape) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    const Value value = OfShape(shape);
    if (value.exact) return value;
  }
  return Parameter(shape);
}

Value Draft::Parameter(const Shape& shape) {
  if (depth > 0) return RandomConstant(shape);
  return AddArgument(shape, /*exact=*/true, 2);
}

Value Draft::AddArgument(const Shape& shape, bool exact, double magnitude) {
  const int64_t number = next_parameter_++;
  hlo::Instruction* parameter =
      computation_.Add(Opcode::kParameter, shape, {}, hlo::ParameterAttributes{number}, StrCat("p", number));
  const Value value = Wrap(parameter, exact, magnitude);
  if (shape.IsArray()) values_.push_back(value);
  return value;
}

Value Draft::Constant(Literal literal) {
  double magnitude = 0;
  for (int64_t i = 0; i < literal.element_count(); ++i)
    magnitude = std::max(magnitude, std::abs(literal.GetComplex(i)));
  const Shape shape = literal.shape();
  hlo::Instruction* constant =
      computation_.Add(Opcode::kConstant, shape, {},
                       hlo::ConstantAttributes{std::make_shared<const Literal>(std::move(literal)), false});
  return Wrap(constant, /*exact=*/true, magnitude);
}

Value Draft::Constant(PrimitiveType type, double value) {
  Literal literal(Shape::Scalar(type));
  literal.SetDouble(0, value);
  return Constant(std::move(literal));
}

Value Draft::Splat(const Shape& shape, double value) {
  const Value scalar = Constant(shape.element_type, value);
  if (shape.rank() == 0) return scalar;
  hlo::Instruction* broadcast = computation_.Add(Opcode::kBroadcast, Shape::Array(shape.element_type, shape.dimensions),
                                                 {scalar.instruction}, hlo::DimensionsAttributes{});
  return Wrap(broadcast, true, scalar.magnitude);
}

Value Draft::RandomConstant(const Shape& shape) {
  const PrimitiveType type = shape.element_type;
  const auto number = [&]() -> double {
    if (PredElement(type)) return static_cast<double>(random.Below(2));
    if (type == PrimitiveType::kF8E8M0FNU) return std::exp2(static_cast<double>(random.Between(-2, 2)));
    if (!BitsElement(type)) return static_cast<double>(random.Between(-8, 8)) / 4;
    const bool is_signed = hlo::IsSigned(type);
    const int bits = std::min(hlo::BitWidth(type), 40);
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    if (random.Chance(0.7))
      return static_cast<double>(
          random.Between(std::max<int64_t>(low, -3), std::min<int64_t>(low + (int64_t{1} << bits) - 1, 7)));
    return static_cast<double>(random.Between(low, low + (int64_t{1} << bits) - 1));
  };
  if (shape.ElementCount() > 64 || random.Chance(0.3)) {
    const Value value = Splat(shape, number());
    values_.push_back(value);
    return value;
  }
  Literal literal(Shape::Array(type, shape.dimensions));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (ComplexElement(type)) {
      const double real = number();
      literal.SetComplex(i, {real, number()});
    } else {
      literal.SetDouble(i, number());
    }
  }
  const Value value = Constant(std::move(literal));
  values_.push_back(value);
  return value;
}

Value Draft::Clamped(const Value& x, double low, double high) {
  const Value least = Constant(x.type(), low), most = Constant(x.type(), high);
  hlo::Instruction* clamp =
      computation_.Add(Opcode::kClamp, x.shape(), {least.instruction, x.instruction, most.instruction});
  return Wrap(clamp, x.exact, std::max(std::abs(low), std::abs(high)));
}

Value Draft::Bounded(const Value& x, double limit) {
  if (!InexactElement(x.type()) || x.magnitude <= limit) return x;
  if (!ComplexElement(x.type())) return Clamped(x, -limit, limit);
  const double factor = std::isfinite(x.magnitude) ? limit / x.magnitude : 0;
  hlo::Instruction* product =
      computation_.Add(Opcode::kMultiply, x.shape(), {x.instruction, Splat(x.shape(), factor).instruction});
  return Wrap(product, false, limit);
}

Value Draft::AwayFromZero(const Value& x, double least) {
  if (ComplexElement(x.type())) {
    const Value small = Bounded(x, 1);
    hlo::Instruction* sum =
        computation_.Add(Opcode::kAdd, x.shape(), {small.instruction, Splat(x.shape(), 2 + least).instruction});
    return Wrap(sum, false, small.magnitude + 2 + least);
  }
  if (!FloatElement(x.type())) return x;
  hlo::Instruction* absolute = computation_.Add(Opcode::kAbs, x.shape(), {x.instruction});
  hlo::Instruction* larger =
      computation_.Add(Opcode::kMaximum, x.shape(), {absolute, Splat(x.shape(), least).instruction});
  return Wrap(larger, x.exact, std::max(x.magnitude, least));
}

Value Draft::Keep(Opcode opcode, const std::vector<Value>& operands, hlo::Attributes attributes, bool exact,
                  double magnitude, std::vector<hlo::Computation*> called) {
  absl::StatusOr<hlo::Instruction*> added =
      hlo::AddInferred(computation_, opcode, Instructions(operands), std::move(attributes), std::move(called));
  Check(added.ok(),
        StrCat("the generator made an instruction that does not verify: ", std::string(added.status().message())));
  (*added)->shape().layout.reset();
  const Value value = Wrap(*added, exact, magnitude);
  Take(value);
  return value;
}

Value Draft::KeepShaped(Opcode opcode, Shape shape, const std::vector<Value>& operands, hlo::Attributes attributes,
                        bool exact, double magnitude, std::vector<hlo::Computation*> called) {
  hlo::Instruction* added =
      computation_.Add(opcode, std::move(shape), Instructions(operands), std::move(attributes), "", std::move(called));
  const absl::Status status = hlo::CheckShape(*added);
  Check(status.ok(), StrCat("the generator made an instruction that does not verify: ", std::string(status.message())));
  const Value value = Wrap(added, exact, magnitude);
  Take(value);
  return value;
}

void Draft::Take(const Value& value) {
  if (value.shape().IsTuple()) {
    TakeElements(value.instruction, value.exact, value.magnitude);
  } else if (value.shape().IsArray()) {
    values_.push_back(value);
  }
}

std::vector<Value> Draft::TakeElements(hlo::Instruction* tuple, bool exact, double magnitude) {
  std::vector<Value> elements;
  for (size_t i = 0; i < tuple->shape().tuple_shapes.size(); ++i) {
    const Shape shape = tuple->shape().tuple_shapes[i];
    hlo::Instruction* element =
        computation_.Add(Opcode::kGetTupleElement, shape, {tuple}, hlo::TupleIndexAttributes{static_cast<int64_t>(i)});
    elements.push_back(Wrap(element, exact || (shape.IsArray() && BitsElement(shape.element_type)), magnitude));
    Take(elements.back());
  }
  return elements;
}

Value Draft::Tuple(const std::vector<Value>& elements) {
  std::vector<Shape> shapes;
  for (const Value& element : elements) shapes.push_back(element.shape());
  hlo::Instruction* tuple = computation_.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), Instructions(elements));
  return Wrap(tuple, AllExact(elements), LargestMagnitude(elements));
}

Value Draft::Wrap(hlo::Instruction* instruction, bool exact, double magnitude) {
  // A value that overflowed would be infinite in one engine and large in the other.
  return {instruction, exact, magnitude};
}

}  // namespace smelt::fuzz

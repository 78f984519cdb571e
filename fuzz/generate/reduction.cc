// Reductions of all forms, sorting, mapping and normalisation.
#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

Opcode AnyReducer(Draft& draft, PrimitiveType type) {
  static const std::vector<Opcode> kPredicates = {kAnd, kOr, kXor};
  static const std::vector<Opcode> kIntegers = {kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor};
  static const std::vector<Opcode> kComplexes = {kAdd, kAdd, kMultiply};
  static const std::vector<Opcode> kFloats = {kAdd, kAdd, kMaximum, kMinimum, kMultiply};
  return draft.random.Pick(PredElement(type)      ? kPredicates
                           : IntegerElement(type) ? kIntegers
                           : ComplexElement(type) ? kComplexes
                                                  : kFloats);
}

bool IsExtremum(Opcode opcode) { return opcode == kMaximum || opcode == kMinimum; }

// An operand that the reducer keeps in bounds over that many elements.
Value ForReducer(Draft& draft, const Value& x, Opcode reducer, int64_t elements) {
  if (!InexactElement(x.type()) || IsExtremum(reducer)) return x;
  if (reducer == kMultiply) return draft.Bounded(x, 1);
  const double share = 8 * MagnitudeLimit(x.type()) / static_cast<double>(std::max<int64_t>(elements, 1));
  return draft.Bounded(x, std::clamp(share, 0.25, 2.0));
}

double ReducedMagnitude(const Value& x, Opcode reducer, int64_t elements) {
  return reducer == kAdd ? x.magnitude * static_cast<double>(elements + 1) : std::max(2.0, x.magnitude);
}

// (best, index), (value, index) -> the larger value, of equals the smaller index.
hlo::Computation* ArgMaximum(Draft& draft, PrimitiveType type, PrimitiveType index) {
  hlo::Computation* computation = draft.module().AddComputation("argmax");
  std::vector<hlo::Instruction*> p;
  for (int64_t i = 0; i < 4; ++i) {
    p.push_back(
        computation->Add(kParameter, Shape::Scalar(i % 2 == 0 ? type : index), {}, hlo::ParameterAttributes{i}));
  }
  const Shape pred = Shape::Scalar(PrimitiveType::kPred);
  const auto compare = [&](hlo::Instruction* x, hlo::Instruction* y, hlo::ComparisonDirection direction) {
    return computation->Add(kCompare, pred, {x, y}, hlo::CompareAttributes{direction, {}});
  };
  hlo::Instruction* larger = compare(p[0], p[2], hlo::ComparisonDirection::kGt);
  hlo::Instruction* tie = computation->Add(
      kAnd, pred,
      {compare(p[0], p[2], hlo::ComparisonDirection::kEq), compare(p[1], p[3], hlo::ComparisonDirection::kLt)});
  hlo::Instruction* first = computation->Add(kOr, pred, {larger, tie});
  hlo::Instruction* value = computation->Add(kSelect, p[0]->shape(), {larger, p[0], p[2]});
  hlo::Instruction* position = computation->Add(kSelect, p[1]->shape(), {first, p[1], p[3]});
  computation->set_root(computation->Add(kTuple, Shape::Tuple({value->shape(), position->shape()}), {value, position}));
  return computation;
}

// Two independent reductions in one.
hlo::Computation* PairOf(Draft& draft, Opcode first, PrimitiveType first_type, Opcode second,
                         PrimitiveType second_type) {
  hlo::Computation* computation = draft.module().AddComputation("pair");
  std::vector<hlo::Instruction*> p;
  for (int64_t i = 0; i < 4; ++i) {
    p.push_back(computation->Add(kParameter, Shape::Scalar(i % 2 == 0 ? first_type : second_type), {},
                                 hlo::ParameterAttributes{i}));
  }
  hlo::Instruction* x = computation->Add(first, p[0]->shape(), {p[0], p[2]});
  hlo::Instruction* y = computation->Add(second, p[1]->shape(), {p[1], p[3]});
  computation->set_root(computation->Add(kTuple, Shape::Tuple({x->shape(), y->shape()}), {x, y}));
  return computation;
}

struct Reducing {
  std::vector<Value> operands;  // arrays, then start values
  hlo::Computation* reducer = nullptr;
  bool exact = false;
  double magnitude = 0;
};

// One array, or two of the same dimensions, with what reduces them over `elements` elements each.
Reducing MakeReducing(Draft& draft, Value x, int64_t elements) {
  const PrimitiveType type = x.type();
  if (draft.random.Chance(0.25)) {
    if (x.exact && OrderedElement(type) && draft.random.Chance(0.5)) {
      const PrimitiveType index = draft.random.Chance(0.7) ? PrimitiveType::kS32 : PrimitiveType::kS64;
      const Value positions = draft.ExactOfShape(Shape::Array(index, x.shape().dimensions));
      return {
          {x, positions, draft.Scalar(type), draft.Scalar(index)}, ArgMaximum(draft, type, index), true, x.magnitude};
    }
    const PrimitiveType other = draft.AnyTypeOf([](PrimitiveType t) { return NumberElement(t) || PredElement(t); });
    const Opcode first = AnyReducer(draft, type), second = AnyReducer(draft, other);
    x = ForReducer(draft, x, first, elements);
    const Value y = ForReducer(draft, draft.OfShape(Shape::Array(other, x.shape().dimensions)), second, elements);
    return {{x, y, draft.Scalar(type), draft.Scalar(other)},
            PairOf(draft, first, type, second, other),
            false,
            std::max(ReducedMagnitude(x, first, elements), ReducedMagnitude(y, second, elements))};
  }
  const Opcode reducer = AnyReducer(draft, type);
  x = ForReducer(draft, x, reducer, elements);
  Value start = draft.Scalar(type);
  if (draft.random.Chance(0.6) && !IsExtremum(reducer))
    start = draft.Constant(type, reducer == kMultiply || reducer == kAnd ? 1 : 0);
  return {{x, start},
          ScalarOperation(draft, reducer, type),
          BitsElement(type) || (IsExtremum(reducer) && x.exact),
          ReducedMagnitude(x, reducer, elements)};
}

bool AddReduce(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  std::vector<int64_t> dimensions;
  int64_t elements = 1;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (!draft.random.Chance(0.5)) continue;
    dimensions.push_back(d);
    elements *= x.shape().dimensions[d];
  }
  if (dimensions.empty() && x.shape().rank() > 0 && !draft.EmptyList()) {
    dimensions = {draft.random.Below(x.shape().rank())};
    elements = x.shape().dimensions[dimensions[0]];
  }
  const Reducing reducing = MakeReducing(draft, x, elements);
  draft.Keep(opcode, reducing.operands, hlo::DimensionsAttributes{dimensions}, reducing.exact, reducing.magnitude,
             {reducing.reducer});
  return true;
}

hlo::Window AnyWindow(Draft& draft, const Shape& shape, bool dilations, int64_t* elements) {
  hlo::Window window;
  *elements = 1;
  for (int64_t size : shape.dimensions) {
    hlo::WindowDimension w;
    if (draft.random.Chance(0.6)) {
      w.size = draft.random.Between(1, std::clamp<int64_t>(size, 1, 4));
      w.stride = draft.random.Chance(0.5) ? 1 : draft.random.Between(1, 3);
      if (draft.random.Chance(0.4)) {
        w.padding_low = draft.random.Between(0, w.size - 1);
        w.padding_high = draft.random.Between(0, w.size - 1);
      }
      if (dilations && draft.random.Chance(0.2)) w.window_dilation = 2;
      if (dilations && draft.random.Chance(0.2)) w.base_dilation = 2;
      if ((w.size - 1) * w.window_dilation + 1 > size) w.padding_high = (w.size - 1) * w.window_dilation;
    }
    *elements *= w.size;
    window.dimensions.push_back(w);
  }
  return window;
}

bool AddReduceWindow(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  int64_t elements = 1;
  hlo::WindowAttributes a{AnyWindow(draft, x.shape(), true, &elements)};
  // A cumulative sum is such a window.
  const int64_t last = x.shape().rank() - 1, size = last < 0 ? 0 : x.shape().dimensions[last];
  if (size > 1 && draft.random.Chance(0.15)) {
    a.window.dimensions.assign(x.shape().rank(), {});
    a.window.dimensions[last] = {.size = size, .padding_low = size - 1};
    elements = size;
  }
  const Reducing reducing = MakeReducing(draft, x, elements);
  draft.Keep(opcode, reducing.operands, a, reducing.exact, reducing.magnitude, {reducing.reducer});
  return true;
}

bool AddSelectAndScatter(Draft& draft, Opcode opcode) {
  const bool no_dimension = draft.EmptyList();
  const Value x = draft.Exact([](PrimitiveType t) { return FloatElement(t) || IntegerElement(t); },
                              no_dimension ? 0 : 1, no_dimension ? 0 : 4);
  int64_t elements = 1;
  const hlo::Window window = AnyWindow(draft, x.shape(), false, &elements);
  Shape source = Shape::Array(x.type(), {});
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const hlo::WindowDimension& w = window.dimensions[d];
    // Windows that lie in the padding alone choose nothing.
    const int64_t padded = x.shape().dimensions[d] + w.padding_low + w.padding_high;
    if (x.shape().dimensions[d] == 0 && padded >= w.size) return false;
    source.dimensions.push_back(padded < w.size ? 0 : (padded - w.size) / w.stride + 1);
  }
  const Value values = draft.Bounded(draft.OfShape(source), 1);
  const Value start = draft.Constant(x.type(), 0);
  hlo::Computation* select = draft.module().AddComputation("select");
  const Shape scalar = Shape::Scalar(x.type());
  hlo::Instruction* p0 = select->Add(kParameter, scalar, {}, hlo::ParameterAttributes{0});
  hlo::Instruction* p1 = select->Add(kParameter, scalar, {}, hlo::ParameterAttributes{1});
  const auto direction = draft.random.Chance(0.7) ? hlo::ComparisonDirection::kGe : hlo::ComparisonDirection::kLe;
  select->set_root(
      select->Add(kCompare, Shape::Scalar(PrimitiveType::kPred), {p0, p1}, hlo::CompareAttributes{direction, {}}));
  draft.Keep(opcode, {x, values, start}, hlo::WindowAttributes{window}, BitsElement(x.type()),
             static_cast<double>(elements + 1), {select, ScalarOperation(draft, kAdd, x.type())});
  return true;
}

bool AddSort(Draft& draft, Opcode opcode) {
  const Value keys = draft.Exact(OrderedElement, 1);
  std::vector<Value> operands = {keys};
  for (int64_t more = draft.random.Chance(0.5) ? draft.random.Between(1, 2) : 0; more > 0; --more) {
    operands.push_back(draft.OfShape(Shape::Array(draft.AnyTypeOf(AnyElement), keys.shape().dimensions)));
  }
  hlo::Computation* order = draft.module().AddComputation("order");
  std::vector<hlo::Instruction*> p;
  for (size_t i = 0; i < 2 * operands.size(); ++i) {
    p.push_back(order->Add(kParameter, Shape::Scalar(operands[i / 2].type()), {},
                           hlo::ParameterAttributes{static_cast<int64_t>(i)}));
  }
  const auto direction = draft.random.Chance(0.5) ? hlo::ComparisonDirection::kLt : hlo::ComparisonDirection::kGt;
  hlo::CompareAttributes compare{direction, {}};
  // NaN has a place in the total order only.
  if (FloatElement(keys.type())) compare.type = hlo::ComparisonType::kFloatTotalOrder;
  order->set_root(order->Add(kCompare, Shape::Scalar(PrimitiveType::kPred), {p[0], p[1]}, compare));
  draft.Keep(opcode, operands, hlo::SortAttributes{draft.random.Below(keys.shape().rank()), true}, AllExact(operands),
             LargestMagnitude(operands), {order});
  return true;
}

bool AddTopK(Draft& draft, Opcode opcode) {
  const Value x = draft.Exact([](PrimitiveType t) { return FloatElement(t) || IntegerElement(t); }, 1, 2);
  if (!std::isfinite(x.magnitude)) return false;
  hlo::TopKAttributes a;
  a.k = draft.random.Between(0, std::min<int64_t>(x.shape().dimensions.back(), 6));
  a.largest = draft.random.Chance(0.8);
  draft.Keep(opcode, {x}, a, true, x.magnitude);
  return true;
}

// A computation of a few elementwise operations on scalars.
bool AddMap(Draft& draft, Opcode opcode) {
  std::vector<Value> operands = {draft.Any(AnyElement)};
  if (draft.random.Chance(0.5))
    operands.push_back(draft.OfShape(Shape::Array(draft.AnyTypeOf(AnyElement), operands[0].shape().dimensions)));
  hlo::Computation* body = draft.module().AddComputation("map");
  Draft scalars(*body, draft.random, draft.palette, draft.depth + 1);
  for (const Value& operand : operands)
    scalars.AddArgument(Shape::Scalar(operand.type()), operand.exact, operand.magnitude);
  const absl::Span<const OpcodeRule> rules = ElementwiseRules();
  for (int64_t count = draft.random.Between(1, 4); count > 0; --count) {
    const OpcodeRule& rule = rules[draft.random.Below(static_cast<int64_t>(rules.size()))];
    if (rule.opcode != kBitcastConvert) rule.add(scalars, rule.opcode);
  }
  const Value result = scalars.values().back();
  if (!result.shape().IsScalar()) return false;
  body->set_root(result.instruction);
  std::vector<int64_t> dimensions(operands[0].shape().rank());
  for (size_t d = 0; d < dimensions.size(); ++d) dimensions[d] = static_cast<int64_t>(d);
  draft.Keep(opcode, operands, hlo::DimensionsAttributes{dimensions}, result.exact, result.magnitude, {body});
  return true;
}

bool AddBatchNorm(Draft& draft, Opcode opcode) {
  const auto type = [](PrimitiveType t) { return FloatElement(t) && hlo::BitWidth(t) >= 16; };
  Value x = draft.Any(type, 2, 4);
  x = draft.Bounded(x, 2);
  hlo::BatchNormAttributes a;
  a.epsilon = 0.125f;
  a.feature_index = draft.random.Below(x.shape().rank());
  const Shape vector = Shape::Array(x.type(), {x.shape().dimensions[a.feature_index]});
  std::vector<Value> operands = {x, draft.Bounded(draft.OfShape(vector), 2)};
  const auto more = [&] { operands.push_back(draft.Bounded(draft.OfShape(vector), 2)); };
  const auto variance = [&] { operands.push_back(draft.AwayFromZero(draft.Bounded(draft.OfShape(vector), 2), 0.25)); };
  if (opcode == kBatchNormTraining) {
    more();
  } else if (opcode == kBatchNormInference) {
    more(), more(), variance();
  } else {
    more(), variance(), operands.push_back(draft.Bounded(draft.OfShape(x.shape()), 2));
  }
  draft.Keep(opcode, operands, a, false, 4.0 * static_cast<double>(x.shape().ElementCount()));
  return true;
}

const OpcodeRule kReductionRules[] = {
    {kReduce, 12, AddReduce},
    {kReduceWindow, 6, AddReduceWindow},
    {kSelectAndScatter, 2, AddSelectAndScatter},
    {kSort, 4, AddSort},
    {kTopK, 1, AddTopK},
    {kMap, 3, AddMap},
    {kBatchNormTraining, 1, AddBatchNorm},
    {kBatchNormInference, 1, AddBatchNorm},
    {kBatchNormGrad, 1, AddBatchNorm},
};

}  // namespace

absl::Span<const OpcodeRule> ReductionRules() { return kReductionRules; }

}  // namespace smelt::fuzz

// Matrix products and convolutions with any dimension numbers.
#include <algorithm>
#include <cmath>

#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

// Operands small enough for sums of that many products to stay far from overflow.
double OperandBound(PrimitiveType type, int64_t products) {
  if (!InexactElement(type)) return HUGE_VAL;
  return std::clamp(std::sqrt(8 * MagnitudeLimit(type) / static_cast<double>(std::max<int64_t>(products, 1))), 0.25,
                    2.0);
}

// The type of the sum: that of the operands, or a wider one.
PrimitiveType ResultType(Draft& draft, PrimitiveType type) {
  if (!draft.random.Chance(0.25)) return type;
  if (IntegerElement(type) && hlo::BitWidth(type) < 32)
    return hlo::IsSigned(type) ? PrimitiveType::kS32 : PrimitiveType::kU32;
  if (FloatElement(type) && hlo::BitWidth(type) < 32) return PrimitiveType::kF32;
  return type;
}

std::vector<int64_t> Permutation(Draft& draft, int64_t rank) {
  std::vector<int64_t> order(rank);
  for (int64_t i = 0; i < rank; ++i) order[i] = i;
  if (draft.random.Chance(0.6)) draft.random.Shuffle(order);
  return order;
}

bool AddDot(Draft& draft, Opcode opcode) {
  const int64_t batch = draft.random.Chance(0.6) ? 0 : draft.random.Between(1, 2);
  const int64_t contracting = draft.random.Chance(0.85) ? 1 : draft.random.Between(0, 2);
  static const std::vector<int64_t> kFree = {0, 1, 1, 1, 1, 1, 1, 2};
  const int64_t left = draft.random.Pick(kFree), right = draft.random.Pick(kFree);
  const PrimitiveType type = draft.AnyTypeOf(NumberElement);
  std::vector<int64_t> batch_sizes, contracting_sizes;
  int64_t elements = 1, products = 1;
  const auto size = [&] {
    int64_t chosen = draft.AnySize();
    while (chosen > 1 && elements * chosen > draft.palette.largest) chosen /= 2;
    elements *= std::max<int64_t>(chosen, 1);
    return chosen;
  };
  for (int64_t i = 0; i < batch; ++i) batch_sizes.push_back(size());
  for (int64_t i = 0; i < contracting; ++i) products *= contracting_sizes.emplace_back(size());
  hlo::DotAttributes a;
  const auto side = [&](int64_t free, std::vector<int64_t>* batch_dimensions,
                        std::vector<int64_t>* contracting_dimensions) {
    const int64_t rank = batch + contracting + free;
    const std::vector<int64_t> place = Permutation(draft, rank);
    Shape shape = Shape::Array(type, std::vector<int64_t>(rank));
    for (int64_t i = 0; i < rank; ++i) {
      if (i < batch) {
        batch_dimensions->push_back(place[i]);
        shape.dimensions[place[i]] = batch_sizes[i];
      } else if (i < batch + contracting) {
        contracting_dimensions->push_back(place[i]);
        shape.dimensions[place[i]] = contracting_sizes[i - batch];
      } else {
        shape.dimensions[place[i]] = size();
      }
    }
    return shape;
  };
  const Shape lhs = side(left, &a.lhs_batch, &a.lhs_contracting);
  const Shape rhs = side(right, &a.rhs_batch, &a.rhs_contracting);
  const double bound = OperandBound(type, products);
  const Value x = draft.Bounded(draft.OfShape(lhs), bound), y = draft.Bounded(draft.OfShape(rhs), bound);
  std::vector<int64_t> dimensions;
  for (int64_t d : a.lhs_batch) dimensions.push_back(lhs.dimensions[d]);
  for (const auto& [shape, used] : {std::pair(&lhs, std::pair(&a.lhs_batch, &a.lhs_contracting)),
                                    std::pair(&rhs, std::pair(&a.rhs_batch, &a.rhs_contracting))}) {
    for (int64_t d = 0; d < shape->rank(); ++d) {
      const auto has = [d](const std::vector<int64_t>& list) {
        return std::find(list.begin(), list.end(), d) != list.end();
      };
      if (!has(*used.first) && !has(*used.second)) dimensions.push_back(shape->dimensions[d]);
    }
  }
  draft.KeepShaped(opcode, Shape::Array(ResultType(draft, type), dimensions), {x, y}, a, BitsElement(type),
                   static_cast<double>(products) * x.magnitude * y.magnitude);
  return true;
}

bool AddConvolution(Draft& draft, Opcode opcode) {
  const int64_t spatial = draft.random.Pick(std::vector<int64_t>{0, 1, 1, 2, 2, 2, 2, 3});
  const PrimitiveType type = draft.AnyTypeOf(NumberElement);
  hlo::ConvolutionAttributes a;
  int64_t batch = draft.random.Between(1, 3);
  int64_t input_features = draft.random.Between(1, 4), output_features = draft.random.Between(1, 5);
  if (draft.random.Chance(0.3)) {
    a.feature_group_count = draft.random.Between(2, 3);
    input_features *= a.feature_group_count;
    output_features *= a.feature_group_count;
  } else if (draft.random.Chance(0.15)) {
    a.batch_group_count = draft.random.Between(2, 3);
    batch *= a.batch_group_count;
    output_features *= a.batch_group_count;
  } else if (draft.random.Chance(0.15)) {  // wide ones
    input_features = draft.random.Between(8, 20);
    output_features = draft.random.Between(14, 34);
  }
  if (draft.random.Chance(0.02)) batch = 0;
  if (draft.random.Chance(0.02)) input_features = 0;
  if (draft.random.Chance(0.02)) output_features = 0;
  std::vector<int64_t> input_place = Permutation(draft, spatial + 2), kernel_place = Permutation(draft, spatial + 2),
                       output_place = Permutation(draft, spatial + 2);
  hlo::ConvolutionDimensions& d = a.dimensions;
  d.input_batch = input_place[0], d.input_feature = input_place[1];
  d.kernel_output_feature = kernel_place[0], d.kernel_input_feature = kernel_place[1];
  d.output_batch = output_place[0], d.output_feature = output_place[1];
  Shape input = Shape::Array(type, std::vector<int64_t>(spatial + 2)), kernel = input;
  Shape output = Shape::Array(ResultType(draft, type), std::vector<int64_t>(spatial + 2));
  input.dimensions[d.input_batch] = batch, input.dimensions[d.input_feature] = input_features;
  kernel.dimensions[d.kernel_output_feature] = output_features;
  kernel.dimensions[d.kernel_input_feature] = input_features / a.feature_group_count;
  output.dimensions[d.output_batch] = batch / a.batch_group_count;
  output.dimensions[d.output_feature] = output_features;
  int64_t products = input_features / a.feature_group_count;
  for (int64_t i = 0; i < spatial; ++i) {
    d.input_spatial.push_back(input_place[i + 2]);
    d.kernel_spatial.push_back(kernel_place[i + 2]);
    d.output_spatial.push_back(output_place[i + 2]);
    hlo::WindowDimension window;
    const int64_t size = draft.PartSize(spatial == 3 ? 5 : 9);
    window.size = draft.random.Between(1, 4);
    if (draft.random.Chance(0.3)) window.stride = draft.random.Between(2, 3);
    if (draft.random.Chance(0.2)) window.window_dilation = draft.random.Between(2, 3);
    if (draft.random.Chance(0.2)) window.base_dilation = draft.random.Between(2, 3);
    if (draft.random.Chance(0.5)) {
      window.padding_low = draft.random.Between(-1, 3);
      window.padding_high = draft.random.Between(-1, 3);
    }
    window.reversal = draft.random.Chance(0.15);
    const int64_t spread = size == 0 ? 0 : (size - 1) * window.base_dilation + 1;
    int64_t padded = spread + window.padding_low + window.padding_high;
    const int64_t extent = (window.size - 1) * window.window_dilation + 1;
    if (padded < extent) {
      window.padding_high += extent - padded;
      padded = extent;
    }
    output.dimensions[d.output_spatial[i]] = (padded - extent) / window.stride + 1;
    input.dimensions[d.input_spatial[i]] = size;
    kernel.dimensions[d.kernel_spatial[i]] = window.size;
    products *= window.size;
    a.window.dimensions.push_back(window);
  }
  const double bound = OperandBound(type, products);
  const Value x = draft.Bounded(draft.OfShape(input), bound), y = draft.Bounded(draft.OfShape(kernel), bound);
  draft.KeepShaped(opcode, output, {x, y}, a, BitsElement(type),
                   static_cast<double>(products) * x.magnitude * y.magnitude);
  return true;
}

// Rows of the left side in groups, each with a matrix of its own.
bool AddRaggedDot(Draft& draft, Opcode opcode) {
  const PrimitiveType type = draft.AnyTypeOf(FloatElement);
  const int64_t rows = draft.PartSize(12), inner = draft.PartSize(9), columns = draft.PartSize(9),
                groups = draft.random.Between(1, 4);
  const double bound = OperandBound(type, inner);
  const Value x = draft.Bounded(draft.OfShape(Shape::Array(type, {rows, inner})), bound);
  const Value y = draft.Bounded(draft.OfShape(Shape::Array(type, {groups, inner, columns})), bound);
  hlo::Literal sizes(Shape::Array(PrimitiveType::kS32, {groups}));
  for (int64_t i = 0; i < groups; ++i) sizes.SetInteger(i, draft.random.Between(0, rows));
  hlo::DotAttributes a;
  a.lhs_contracting = {1};
  a.rhs_contracting = {1};
  a.lhs_ragged = {0};
  a.rhs_group = {0};
  draft.Keep(opcode, {x, y, draft.Constant(std::move(sizes))}, a, false,
             static_cast<double>(inner) * x.magnitude * y.magnitude);
  return true;
}

// Narrow floats with one power of two, or one narrow float, for each block of elements.
bool AddScaledDot(Draft& draft, Opcode opcode) {
  static const std::vector<PrimitiveType> kNarrow = {PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E5M2,
                                                     PrimitiveType::kF4E2M1FN, PrimitiveType::kF6E2M3FN,
                                                     PrimitiveType::kF6E3M2FN, PrimitiveType::kBF16};
  static const std::vector<PrimitiveType> kScales = {PrimitiveType::kF8E8M0FNU, PrimitiveType::kF8E8M0FNU,
                                                     PrimitiveType::kF8E4M3FN, PrimitiveType::kBF16};
  const PrimitiveType type = draft.random.Pick(kNarrow), scale_type = draft.random.Pick(kScales);
  const int64_t rows = draft.PartSize(9), columns = draft.PartSize(9);
  const int64_t block = draft.random.Between(1, 8), inner = block * draft.random.Between(1, 4);
  const auto operand = [&](int64_t outer, bool scale) {
    const int64_t along = scale ? inner / block : inner;
    const Value value = draft.OfShape(Shape::Array(scale ? scale_type : type, {outer, along}));
    return scale_type == PrimitiveType::kF8E8M0FNU && scale ? value : draft.Bounded(value, 2);
  };
  const Value x = operand(rows, false), y = operand(columns, false), x_scale = operand(rows, true),
              y_scale = operand(columns, true);
  hlo::DotAttributes a;
  a.lhs_contracting = {1};
  a.rhs_contracting = {1};
  const double bound = static_cast<double>(inner) * x.magnitude * y.magnitude * x_scale.magnitude * y_scale.magnitude;
  draft.KeepShaped(opcode,
                   Shape::Array(draft.random.Chance(0.5) ? PrimitiveType::kF32 : PrimitiveType::kBF16, {rows, columns}),
                   {x, y, x_scale, y_scale}, a, false, bound);
  return true;
}

const OpcodeRule kContractionRules[] = {
    {kDot, 10, AddDot},
    {kScaledDot, 1, AddScaledDot},
    {kConvolution, 6, AddConvolution},
    {kRaggedDot, 1, AddRaggedDot},
};

}  // namespace

absl::Span<const OpcodeRule> ContractionRules() { return kContractionRules; }

}  // namespace smelt::fuzz

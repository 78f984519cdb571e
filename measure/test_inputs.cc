#include "measure/test_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/str_cat.h"
#include "hlo/golden/index_limits.h"

namespace smelt::measure {
namespace {

constexpr std::array<std::string_view, kInputKinds.size()> kNames = {"scaled", "unit", "positive"};

hlo::InputRange Scaled(const hlo::Shape& shape) {
  // Vectors, also as [1,1,1,64], are scales, variances and biases.
  int64_t largest = 1;
  for (int64_t size : shape.dimensions) largest = std::max(largest, size);
  if (shape.ElementCount() <= largest) return {0.5, 1.5};
  const double last = static_cast<double>(std::max<int64_t>(shape.dimensions.back(), 1));
  const double fan_in = std::max(static_cast<double>(shape.ElementCount()) / last, 1.0);
  const double limit = std::sqrt(3 / fan_in);
  return {-limit, limit};
}

}  // namespace

std::string_view InputKindName(InputKind kind) { return kNames[static_cast<size_t>(kind)]; }

absl::StatusOr<InputKind> ParseInputKind(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return absl::InvalidArgumentError(StrCat("`", name, "` is no kind of inputs"));
  return static_cast<InputKind>(found - kNames.begin());
}

TestInputs TestInputs::Of(const hlo::Module& module, InputKind kind) { return {kind, hlo::IndexLimits(module)}; }

hlo::InputRange RangeOf(const TestInputs& inputs, int64_t leaf, const hlo::Shape& shape) {
  hlo::InputRange usual = hlo::DefaultInputRange(shape.element_type);
  if (!hlo::IsFloat(shape.element_type) && !hlo::IsComplex(shape.element_type)) {
    const auto limit = inputs.limits.find(leaf);
    if (limit != inputs.limits.end() && hlo::IsInteger(shape.element_type))
      usual.high = std::min(usual.high, static_cast<double>(limit->second));
    return usual;
  }
  switch (inputs.kind) {
    case InputKind::kScaled:
      return Scaled(shape);
    case InputKind::kUnit:
      break;
    case InputKind::kPositive:
      return {0.1, 1};
  }
  return usual;
}

absl::StatusOr<std::vector<hlo::Literal>> MakeInputs(const hlo::Module& module, const TestInputs& inputs) {
  std::vector<const hlo::Shape*> leaves;
  for (const hlo::Instruction* parameter : module.entry()->Parameters()) parameter->shape().AppendLeaves(&leaves);
  std::vector<hlo::InputRange> ranges;
  for (const hlo::Shape* leaf : leaves) {
    if (leaf->IsArray()) ranges.push_back(RangeOf(inputs, static_cast<int64_t>(ranges.size()), *leaf));
  }
  return hlo::MakeInputs(module, ranges);
}

}  // namespace smelt::measure

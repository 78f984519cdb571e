#include "tests/kernels/agreement/agreement.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"

namespace smelt::kernels {
namespace {

// Rounding once more or less moves a short float by an ulp.
double ToleranceOf(hlo::PrimitiveType type, double tolerance) {
  switch (type) {
    case hlo::PrimitiveType::kF16:
      return 4e-3;
    case hlo::PrimitiveType::kBF16:
      return 3e-2;
    default:
      return tolerance;
  }
}

// Complex numbers as kernels have them: the parts in turn.
hlo::Literal AsPairs(hlo::Literal literal) {
  hlo::Shape shape = literal.shape();
  if (!hlo::IsComplex(shape.element_type)) return literal;
  shape.element_type = hlo::ComplexPart(shape.element_type);
  if (shape.dimensions.empty()) shape.dimensions.push_back(1);
  shape.dimensions.back() *= 2;
  shape.layout.reset();
  hlo::Literal pairs(shape);
  std::memcpy(pairs.raw(), literal.raw(),
              static_cast<size_t>(literal.element_count()) * 2 * hlo::StorageBytes(shape.element_type));
  return pairs;
}

}  // namespace

Reference MakeReference(const hlo::Module& module) {
  Reference reference;
  absl::StatusOr<std::vector<hlo::Literal>> inputs = hlo::MakeInputs(module);
  Check(inputs.ok(), inputs.status().ToString());
  reference.inputs = std::move(*inputs);
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : reference.inputs) arguments.push_back(&input);
  absl::StatusOr<hlo::Literal> result = hlo::Evaluate(module, arguments);
  Check(result.ok(), result.status().ToString());
  if (result->IsArray()) {
    reference.outputs.push_back(std::move(*result));
  } else {
    for (hlo::Literal& element : result->elements()) reference.outputs.push_back(std::move(element));
  }
  for (std::vector<hlo::Literal>* literals : {&reference.inputs, &reference.outputs}) {
    for (hlo::Literal& literal : *literals) literal = AsPairs(std::move(literal));
  }
  return reference;
}

std::string Difference(const std::vector<hlo::Literal>& got, const std::vector<hlo::Literal>& want, double tolerance) {
  if (got.size() != want.size()) return absl::StrCat(got.size(), " outputs, expected ", want.size());
  for (size_t o = 0; o < got.size(); ++o) {
    const hlo::PrimitiveType type = want[o].shape().element_type;
    const int64_t count = want[o].element_count();
    const bool pairs = hlo::IsComplex(got[o].shape().element_type) && !hlo::IsComplex(type);
    if (got[o].element_count() * (pairs ? 2 : 1) != count) return absl::StrCat("output ", o, " has another size");
    if (hlo::IsComplex(got[o].shape().element_type)) {
      const std::string difference = Difference({AsPairs(got[o])}, {want[o]}, tolerance);
      if (!difference.empty()) return absl::StrCat("output ", o, ": ", difference);
      continue;
    }
    if (!hlo::IsFloat(type)) {
      for (int64_t i = 0; i < count; ++i) {
        if (got[o].GetInteger(i) != want[o].GetInteger(i)) {
          return absl::StrCat("output ", o, " element ", i, ": ", got[o].GetInteger(i), ", expected ",
                              want[o].GetInteger(i));
        }
      }
      continue;
    }
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double w = std::abs(want[o].GetDouble(i));
      if (std::isfinite(w)) largest = std::max(largest, w);
    }
    const double limit = ToleranceOf(type, tolerance);
    for (int64_t i = 0; i < count; ++i) {
      const double g = got[o].GetDouble(i);
      const double w = want[o].GetDouble(i);
      if (std::isnan(g) && std::isnan(w)) continue;
      if (g == w || (std::abs(g) < hlo::LeastOf(type) && std::abs(w) < hlo::LeastOf(type))) continue;
      const double scale = std::max({std::abs(g), std::abs(w), 0.05 * largest});
      if (!(std::abs(g - w) <= limit * scale)) {
        return absl::StrCat("output ", o, " element ", i, ": ", g, ", expected ", w);
      }
    }
  }
  return "";
}

}  // namespace smelt::kernels

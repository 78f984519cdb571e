#include <complex>

#include "absl/strings/str_cat.h"
#include "hlo/literal.h"
#include "kernels/te/hlo/index.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

Expr Element(const hlo::Literal& literal, NumberPart part, int64_t index) {
  const PrimitiveType type = literal.shape().element_type;
  if (part != NumberPart::kWhole) {
    const std::complex<double> value = literal.GetComplex(index);
    return FloatConst({hlo::ComplexPart(type), 1}, part == NumberPart::kReal ? value.real() : value.imag());
  }
  if (hlo::IsFloat(type)) return FloatConst({type, 1}, literal.GetDouble(index));
  return IntConst({type, 1}, literal.GetInteger(index));
}

// A balanced tree of selects over the flat index.
Expr Table(const hlo::Literal& literal, NumberPart part, const Expr& flat, int64_t begin, int64_t end) {
  if (end - begin == 1) return Element(literal, part, begin);
  const int64_t middle = (begin + end) / 2;
  Expr left = Table(literal, part, flat, begin, middle);
  Expr right = Table(literal, part, flat, middle, end);
  return left.Same(right) ? left : Select(flat < middle, left, right);
}

}  // namespace

absl::StatusOr<std::vector<Value>> ConstantRule(const RuleInput& input) {
  const hlo::Literal& literal = input.instruction.literal();
  if (literal.element_count() == 1 || literal.IsUniform())
    return std::vector<Value>{{{}, Element(literal, input.part, 0)}};
  return std::vector<Value>{input.Emit([&](Indices indices) {
    return Table(literal, input.part, Linearize(indices, input.dimensions()), 0, literal.element_count());
  })};
}

absl::StatusOr<std::vector<Value>> IotaRule(const RuleInput& input) {
  const int64_t dimension = input.instruction.attributes<hlo::IotaAttributes>().dimension;
  return std::vector<Value>{input.Emit([&](Indices indices) { return Cast({input.type(), 1}, indices[dimension]); })};
}

}  // namespace smelt::kernels::te

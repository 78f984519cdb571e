#include "fuzz/trial/leaves.h"

#include <cmath>
#include <complex>

#include "hlo/golden/golden.h"

namespace smelt::fuzz {
namespace {

double RootMeanSquare(const hlo::Literal& values) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const double square = std::norm(values.GetComplex(i));
    if (!std::isfinite(square)) continue;
    sum += square;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

// Over the elements that are finite in both.
double RootMeanSquareOfDifference(const hlo::Literal& want, const hlo::Literal& got) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double square = std::norm(want.GetComplex(i) - got.GetComplex(i));
    if (!std::isfinite(square)) continue;
    sum += square;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

void AppendLeaves(const hlo::Literal& value, std::vector<const hlo::Literal*>* leaves) {
  if (value.shape().IsTuple()) {
    for (const hlo::Literal& element : value.elements()) AppendLeaves(element, leaves);
  } else if (value.IsArray()) {
    leaves->push_back(&value);
  }
}

std::vector<hlo::Literal> LeavesOf(const hlo::Literal& value) {
  std::vector<const hlo::Literal*> pointers;
  AppendLeaves(value, &pointers);
  std::vector<hlo::Literal> leaves;
  for (const hlo::Literal* leaf : pointers) leaves.push_back(*leaf);
  return leaves;
}

double LeafError(const hlo::Literal& want, const hlo::Literal& got) {
  const absl::StatusOr<double> error = hlo::ComparisonError(want, got, hlo::GoldenMetric::kRms);
  if (!error.ok()) return HUGE_VAL;
  const hlo::PrimitiveType type = want.shape().element_type;
  if (*error == 0 || !std::isfinite(*error) || (!hlo::IsFloat(type) && !hlo::IsComplex(type))) return *error;
  constexpr double kLeast = 0.1;
  const double size = RootMeanSquare(want);
  return size >= kLeast ? *error : RootMeanSquareOfDifference(want, got) / kLeast;
}

}  // namespace smelt::fuzz

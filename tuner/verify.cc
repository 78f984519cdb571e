#include "tuner/verify.h"

#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/status_macros.h"

namespace smelt::tuner {
namespace {

void AppendLeaves(hlo::Literal value, std::vector<hlo::Literal>* leaves) {
  if (value.shape().IsTuple()) {
    for (hlo::Literal& element : value.elements()) AppendLeaves(std::move(element), leaves);
  } else if (value.IsArray()) {
    leaves->push_back(std::move(value));
  }
}

}  // namespace

Verifier::Verifier(std::vector<hlo::Literal> expected, InputKind inputs)
    : expected_(std::move(expected)), inputs_(inputs) {
  std::vector<const hlo::Literal*> leaves;
  for (const hlo::Literal& leaf : expected_) leaves.push_back(&leaf);
  finite_ = FiniteShare(leaves);
}

double FiniteShare(absl::Span<const hlo::Literal* const> leaves) {
  int64_t numbers = 0, finite = 0;
  for (const hlo::Literal* leaf : leaves) {
    const hlo::PrimitiveType type = leaf->shape().element_type;
    if (!leaf->IsArray() || (!hlo::IsFloat(type) && !hlo::IsComplex(type))) continue;
    for (int64_t i = 0; i < leaf->element_count(); ++i) {
      const std::complex<double> value = leaf->GetComplex(i);
      finite += std::isfinite(value.real()) && std::isfinite(value.imag());
    }
    numbers += leaf->element_count();
  }
  return numbers == 0 ? 1 : static_cast<double>(finite) / static_cast<double>(numbers);
}

double VerifyTolerance(hlo::PrimitiveType type) {
  if (!hlo::IsFloat(type) && !hlo::IsComplex(type)) return 1e-3;
  if (type == hlo::PrimitiveType::kF64 || type == hlo::PrimitiveType::kC128) return 1e-8;
  if (hlo::BitWidth(type) >= 32) return 1e-4;
  return hlo::BitWidth(type) == 16 ? 2e-2 : 2e-1;
}

absl::StatusOr<std::unique_ptr<Verifier>> Verifier::Create(const hlo::Module& module, double max_seconds,
                                                           const std::atomic<bool>* cancel) {
  std::vector<const hlo::Shape*> shapes;
  for (const hlo::Instruction* parameter : module.entry()->Parameters()) parameter->shape().AppendLeaves(&shapes);
  std::erase_if(shapes, [](const hlo::Shape* shape) { return !shape->IsArray(); });
  std::unique_ptr<Verifier> best;
  for (const InputKind kind : kInputKinds) {
    std::vector<hlo::InputRange> ranges;
    for (const hlo::Shape* shape : shapes) ranges.push_back(RangeOf(kind, *shape));
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> inputs, hlo::MakeInputs(module, ranges));
    std::vector<const hlo::Literal*> arguments;
    for (const hlo::Literal& input : inputs) arguments.push_back(&input);
    SMELT_ASSIGN_OR_RETURN(hlo::Literal result,
                           hlo::Evaluate(module, arguments, {.max_seconds = max_seconds, .cancel = cancel}));
    std::vector<hlo::Literal> expected;
    AppendLeaves(std::move(result), &expected);
    std::unique_ptr<Verifier> verifier(new Verifier(std::move(expected), kind));
    if (best == nullptr || verifier->finite() > best->finite()) best = std::move(verifier);
    if (best->finite() == 1) break;
  }
  return best;
}

absl::StatusOr<std::unique_ptr<Verifier>> Verifier::FromOutputs(const hlo::Module& module,
                                                                const std::vector<hlo::Literal>& outputs,
                                                                InputKind inputs) {
  std::vector<const hlo::Shape*> shapes;
  module.entry()->root()->shape().AppendLeaves(&shapes);
  std::erase_if(shapes, [](const hlo::Shape* shape) { return !shape->IsArray(); });
  if (shapes.size() != outputs.size()) {
    return absl::InternalError(absl::StrCat("expected ", shapes.size(), " outputs, got ", outputs.size()));
  }
  std::vector<hlo::Literal> expected;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal literal, hlo::FromStorable(outputs[i], *shapes[i]));
    expected.push_back(std::move(literal));
  }
  return std::unique_ptr<Verifier>(new Verifier(std::move(expected), inputs));
}

std::string Verifier::Compare(const std::vector<hlo::Literal>& outputs) const {
  if (outputs.size() != expected_.size())
    return absl::StrCat("expected ", expected_.size(), " outputs, got ", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const absl::StatusOr<hlo::Literal> got = hlo::FromStorable(outputs[i], expected_[i].shape());
    if (!got.ok()) return absl::StrCat("out.", i, ": ", got.status().message());
    const absl::StatusOr<double> error = hlo::ComparisonError(expected_[i], *got, hlo::GoldenMetric::kRms);
    if (!error.ok()) return absl::StrCat("out.", i, ": ", error.status().message());
    const double tolerance = VerifyTolerance(expected_[i].shape().element_type);
    if (!(*error <= tolerance)) return absl::StrCat("out.", i, ": error ", *error, " over the tolerance ", tolerance);
  }
  return "";
}

}  // namespace smelt::tuner

#include "measure/verify.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/safetensors.h"

namespace smelt::measure {
namespace {

void AppendLeaves(hlo::Literal value, std::vector<hlo::Literal>* leaves) {
  if (value.shape().IsTuple()) {
    for (hlo::Literal& element : value.elements()) AppendLeaves(std::move(element), leaves);
  } else if (value.IsArray()) {
    leaves->push_back(std::move(value));
  }
}

absl::StatusOr<std::vector<hlo::Literal>> EvaluateLeaves(const hlo::Module& module,
                                                         const std::vector<hlo::Literal>& inputs,
                                                         const hlo::EvaluateOptions& options) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  SMELT_ASSIGN_OR_RETURN(hlo::Literal result, hlo::Evaluate(module, arguments, options));
  std::vector<hlo::Literal> leaves;
  AppendLeaves(std::move(result), &leaves);
  return leaves;
}

}  // namespace

Verifier::Verifier(std::vector<hlo::Literal> expected, TestInputs inputs)
    : expected_(std::move(expected)), inputs_(std::move(inputs)) {
  std::vector<const hlo::Literal*> leaves;
  for (const hlo::Literal& leaf : expected_) {
    leaves.push_back(&leaf);
    tolerances_.push_back(VerifyTolerance(leaf.shape().element_type));
  }
  finite_ = FiniteShare(leaves);
  moved_.resize(expected_.size());
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

// An infinite tolerance allows what is no number, too.
bool Within(double error, double tolerance) { return error <= tolerance || std::isinf(tolerance); }

// An evaluation that is begun after its limit ends at once.
constexpr double kLeastSeconds = 1e-3;

absl::StatusOr<std::unique_ptr<Verifier>> Verifier::Create(const hlo::Module& module, double max_seconds,
                                                           const std::atomic<bool>* cancel) {
  std::unique_ptr<Verifier> best;
  TestInputs how = TestInputs::Of(module, kInputKinds.front());
  const auto start = Clock::now();
  for (const InputKind kind : kInputKinds) {
    how.kind = kind;
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> inputs, MakeInputs(module, how));
    const double left = max_seconds > 0 ? std::max(max_seconds - Since(start), kLeastSeconds) : 0;
    absl::StatusOr<std::vector<hlo::Literal>> expected =
        EvaluateLeaves(module, inputs, {.max_seconds = left, .cancel = cancel});
    if (absl::IsDeadlineExceeded(expected.status()) && best != nullptr) break;
    if (!expected.ok()) return expected.status();
    std::unique_ptr<Verifier> verifier(new Verifier(*std::move(expected), how));
    verifier->module_ = &module;
    if (best == nullptr || verifier->finite() > best->finite()) best = std::move(verifier);
    if (best->finite() == 1) break;
  }
  return best;
}

absl::StatusOr<std::unique_ptr<Verifier>> Verifier::CreateWith(const hlo::Module& module,
                                                               std::vector<hlo::Literal> inputs, double max_seconds,
                                                               const std::atomic<bool>* cancel) {
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> expected,
                         EvaluateLeaves(module, inputs, {.max_seconds = max_seconds, .cancel = cancel}));
  std::unique_ptr<Verifier> verifier(new Verifier(std::move(expected), {}));
  verifier->module_ = &module;
  verifier->given_ = std::move(inputs);
  return verifier;
}

absl::StatusOr<std::unique_ptr<Verifier>> Verifier::FromOutputs(const hlo::Module& module,
                                                                const std::vector<hlo::Literal>& outputs,
                                                                TestInputs inputs) {
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
  return std::unique_ptr<Verifier>(new Verifier(std::move(expected), std::move(inputs)));
}

absl::StatusOr<double> Verifier::Error(size_t i, const hlo::Literal& output) const {
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal got, hlo::FromStorable(output, expected_[i].shape()));
  return hlo::ComparisonError(expected_[i], got, hlo::GoldenMetric::kRms);
}

std::string Verifier::Compare(const std::vector<hlo::Literal>& outputs, double factor) const {
  if (outputs.size() != expected_.size())
    return absl::StrCat("expected ", expected_.size(), " outputs, got ", outputs.size());
  if (finite_ == 0) return "";  // which infinity or which NaN it is, is for rounding to say
  for (size_t i = 0; i < outputs.size(); ++i) {
    const absl::StatusOr<double> error = Error(i, outputs[i]);
    if (!error.ok()) return absl::StrCat("out.", i, ": ", error.status().message());
    const bool is_float = hlo::IsFloat(expected_[i].shape().element_type);
    const double allowed = tolerances_[i] * (is_float ? factor : 1);
    if (!Within(*error, allowed)) return absl::StrCat("out.", i, ": error ", *error, " over the tolerance ", allowed);
  }
  return "";
}

absl::StatusOr<std::vector<hlo::OutputComparison>> Verifier::Comparisons(
    const std::vector<hlo::Literal>& outputs) const {
  if (outputs.size() != expected_.size())
    return absl::InternalError(absl::StrCat("expected ", expected_.size(), " outputs, got ", outputs.size()));
  std::vector<hlo::OutputComparison> comparisons;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(const double error, Error(i, outputs[i]));
    comparisons.push_back({static_cast<int64_t>(i), error, tolerances_[i], Within(error, tolerances_[i])});
  }
  return comparisons;
}

absl::StatusOr<std::vector<std::string>> Verifier::LearnNoise(const std::vector<hlo::Literal>& outputs, double factor,
                                                              double max_seconds, const std::atomic<bool>* cancel) {
  if (module_ == nullptr) return absl::FailedPreconditionError("the evaluator did not run this program");
  std::vector<hlo::Literal> made;
  if (given_.empty()) {
    SMELT_ASSIGN_OR_RETURN(made, MakeInputs(*module_, inputs_));
  }
  const auto start = Clock::now();
  for (bool first = true; roundings_ < kRoundings && (first || !Compare(outputs, factor).empty()); first = false) {
    const double left = max_seconds > 0 ? std::max(max_seconds - Since(start), kLeastSeconds) : 0;
    const absl::StatusOr<std::vector<hlo::Literal>> other =
        EvaluateLeaves(*module_, given_.empty() ? made : given_,
                       {.max_seconds = left, .cancel = cancel, .other_roundings = roundings_ + 1});
    if (absl::IsDeadlineExceeded(other.status()) && !first) break;
    if (!other.ok()) return other.status();
    ++roundings_;
    for (size_t i = 0; i < other->size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(const double moved,
                             hlo::ComparisonError(expected_[i], (*other)[i], hlo::GoldenMetric::kRms));
      moved_[i] = std::max(moved_[i], std::isnan(moved) ? std::numeric_limits<double>::infinity() : moved);
      tolerances_[i] = std::max(tolerances_[i], kNoiseFactor * moved_[i]);
    }
  }
  std::vector<std::string> noisy;
  for (size_t i = 0; i < moved_.size(); ++i) {
    const double noise = kNoiseFactor * moved_[i];
    if (noise > VerifyTolerance(expected_[i].shape().element_type))
      noisy.push_back(
          absl::StrFormat("out.%d is compared within %.2g: rounding moves it by %.2g", i, noise, moved_[i]));
  }
  return noisy;
}

std::vector<std::string> Verifier::Trust(const std::vector<hlo::Literal>& outputs, const std::string& whose) {
  std::vector<std::string> trusted;
  for (size_t i = 0; i < std::min(outputs.size(), expected_.size()); ++i) {
    const absl::StatusOr<double> error = Error(i, outputs[i]);
    if (!error.ok() || !(*error > tolerances_[i]) || *error > kTrustedError * tolerances_[i]) continue;
    tolerances_[i] = 2 * *error;
    trusted.push_back(absl::StrFormat("out.%d is compared within %.2g: %s differs from the evaluator's by %.2g", i,
                                      tolerances_[i], whose, *error));
  }
  return trusted;
}

}  // namespace smelt::measure

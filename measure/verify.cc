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
#include "hlo/rewrite/graph_builder.h"

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
                                                         const std::vector<hlo::Literal>& inputs, double max_seconds,
                                                         const std::atomic<bool>* cancel) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  SMELT_ASSIGN_OR_RETURN(hlo::Literal result,
                         hlo::Evaluate(module, arguments, {.max_seconds = max_seconds, .cancel = cancel}));
  std::vector<hlo::Literal> leaves;
  AppendLeaves(std::move(result), &leaves);
  return leaves;
}

// The last digit of numbers near one, relative to them; 0 for types whose digits are too coarse to be noise.
double LastDigit(hlo::PrimitiveType type) {
  switch (type) {
    case hlo::PrimitiveType::kF64:
    case hlo::PrimitiveType::kC128:
      return std::ldexp(1.0, -52);
    case hlo::PrimitiveType::kF32:
    case hlo::PrimitiveType::kC64:
      return std::ldexp(1.0, -23);
    case hlo::PrimitiveType::kF16:
      return std::ldexp(1.0, -10);
    case hlo::PrimitiveType::kBF16:
      return std::ldexp(1.0, -7);
    default:
      return 0;
  }
}

// Up or down by a digit, as the bits of a mixed index say.
void ChangeLastDigits(hlo::Literal* input) {
  const hlo::PrimitiveType type = input->shape().element_type;
  const double digit = LastDigit(type);
  if (digit == 0) return;
  for (int64_t i = 0; i < input->element_count(); ++i) {
    const bool up = (static_cast<uint64_t>(i + 1) * 0x9E3779B97F4A7C15) >> 63 != 0;
    const double factor = up ? 1 + digit : 1 - digit;
    if (hlo::IsComplex(type)) {
      input->SetComplex(i, input->GetComplex(i) * factor);
    } else {
      input->SetDouble(i, input->GetDouble(i) * factor);
    }
  }
}

// What other roundings to whole numbers move counts so many times: the digits that are changed in front of them are
// more than sums of another order change, so that as many numbers go the other way, in each direction.
constexpr double kTieFactor = 4;
// Long sums and exponentials in another order differ by some eight last digits of an f32.
constexpr double kTieDigits = 0x1p-20;

bool RoundsToWholeNumbers(const hlo::Instruction& x) {
  if (x.operand_count() != 1 || !x.operand(0)->shape().IsArray() || LastDigit(x.operand(0)->shape().element_type) == 0)
    return false;
  switch (x.opcode()) {
    case hlo::Opcode::kRoundNearestEven:
    case hlo::Opcode::kRoundNearestAfz:
    case hlo::Opcode::kFloor:
    case hlo::Opcode::kCeil:
      return true;
    case hlo::Opcode::kConvert:
      return hlo::IsInteger(x.shape().element_type) && x.operand(0)->opcode() != hlo::Opcode::kRoundNearestEven &&
             x.operand(0)->opcode() != hlo::Opcode::kClamp;
    default:
      return false;
  }
}

// The program with every number in front of a rounding made larger by kTieDigits; null: it rounds none.
std::unique_ptr<hlo::Module> WithOtherTies(const hlo::Module& module) {
  std::unique_ptr<hlo::Module> copy = module.Clone();
  bool any = false;
  for (hlo::Computation* computation : copy->Computations()) {
    const std::vector<hlo::Instruction*> order = computation->PostOrder();
    for (hlo::Instruction* x : order) {
      if (!RoundsToWholeNumbers(*x)) continue;
      any = true;
      hlo::Instruction* value = x->operand(0);
      hlo::GraphBuilder build(*x);
      hlo::Instruction* factor =
          build.BroadcastScalar(build.Scalar(value->shape().element_type, 1 + kTieDigits), value->shape());
      value->ReplaceUsesIn(x, build.Binary(hlo::Opcode::kMultiply, value, factor));
    }
  }
  return any ? std::move(copy) : nullptr;
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
    absl::StatusOr<std::vector<hlo::Literal>> expected = EvaluateLeaves(module, inputs, left, cancel);
    if (absl::IsDeadlineExceeded(expected.status()) && best != nullptr) break;
    if (!expected.ok()) return expected.status();
    std::unique_ptr<Verifier> verifier(new Verifier(*std::move(expected), how));
    verifier->module_ = &module;
    if (best == nullptr || verifier->finite() > best->finite()) best = std::move(verifier);
    if (best->finite() == 1) break;
  }
  return best;
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
    if (!(*error <= allowed)) return absl::StrCat("out.", i, ": error ", *error, " over the tolerance ", allowed);
  }
  return "";
}

absl::StatusOr<std::vector<std::string>> Verifier::LearnNoise(double max_seconds, const std::atomic<bool>* cancel) {
  if (module_ == nullptr) return absl::FailedPreconditionError("the evaluator did not run this program");
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> inputs, MakeInputs(*module_, inputs_));
  for (hlo::Literal& input : inputs) ChangeLastDigits(&input);
  SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> moved, EvaluateLeaves(*module_, inputs, max_seconds, cancel));
  std::vector<std::string> noisy;
  // Compares each result within `factor` times what `other` differs by, where that is more than its tolerance.
  const auto allow = [&](const std::vector<hlo::Literal>& other, double factor, const char* why) -> absl::Status {
    for (size_t i = 0; i < other.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(const double error, hlo::ComparisonError(expected_[i], other[i], hlo::GoldenMetric::kRms));
      const double noise = factor * (std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
      if (noise <= tolerances_[i]) continue;
      tolerances_[i] = noise;
      noisy.push_back(absl::StrFormat("out.%d is compared within %.2g: %s move it by %.2g", i, noise, why, error));
    }
    return absl::OkStatus();
  };
  SMELT_RETURN_IF_ERROR(allow(moved, kNoiseFactor, "the last digits of the inputs"));
  if (const std::unique_ptr<hlo::Module> ties = WithOtherTies(*module_); ties != nullptr) {
    SMELT_ASSIGN_OR_RETURN(inputs, MakeInputs(*module_, inputs_));
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> rounded, EvaluateLeaves(*ties, inputs, max_seconds, cancel));
    SMELT_RETURN_IF_ERROR(allow(rounded, kTieFactor, "numbers that are rounded to whole ones the other way"));
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

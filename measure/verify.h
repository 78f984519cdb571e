// The evaluator's word on a candidate's results.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/golden/golden.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "measure/test_inputs.h"

namespace smelt::measure {

// Half of the ways to round turn a choice that hangs on one number: five miss it once in 32.
inline constexpr int kRoundings = 5;

class Verifier {
 public:
  // Evaluates the module in at most `max_seconds` in all (0: no limit), under the first kind of inputs that gives
  // finite results only; where none does, or there is no time to look, under the one that gives most.
  static absl::StatusOr<std::unique_ptr<Verifier>> Create(const hlo::Module& module, double max_seconds,
                                                          const std::atomic<bool>* cancel);
  // Does what Create does, under these inputs: a literal a parameter.
  static absl::StatusOr<std::unique_ptr<Verifier>> CreateWith(const hlo::Module& module,
                                                              std::vector<hlo::Literal> inputs, double max_seconds,
                                                              const std::atomic<bool>* cancel);
  // Expects these outputs of the module under these inputs, stored as the measuring child stores them.
  static absl::StatusOr<std::unique_ptr<Verifier>> FromOutputs(const hlo::Module& module,
                                                               const std::vector<hlo::Literal>& outputs,
                                                               TestInputs inputs);

  // How the inputs are made; of CreateWith, nothing that says so.
  const TestInputs& inputs() const { return inputs_; }
  const std::vector<hlo::Literal>& expected() const { return expected_; }
  // Share of the floating-point results that are finite. At 0 a comparison says nothing.
  double finite() const { return finite_; }

  // Empty when every leaf agrees within the tolerance of its type; otherwise which does not, and by how much. Leaves as
  // the measuring child stores them (hlo::ToStorable). `factor`: how many times the tolerance they may differ by, where
  // the way in which they were computed declares it (targets::Tunable::ErrorFactor).
  std::string Compare(const std::vector<hlo::Literal>& outputs, double factor = 1) const;
  // The same with a word on each leaf. An error where they are not of the expected shapes.
  absl::StatusOr<std::vector<hlo::OutputComparison>> Comparisons(const std::vector<hlo::Literal>& outputs) const;

  // Evaluates again, with all that is rounded on the way rounded otherwise (hlo::EvaluateOptions), until these outputs
  // compare; in kRoundings ways at most over all calls. A result that this moves by more than its tolerance is decided
  // by rounding, in whatever order anyone computes it: the gradient of a bias before a normalisation, which is zero but
  // for rounding, a factor of a nearly singular matrix, a gradient that passes a ReLU whose argument lies next to zero,
  // a number between two whole ones. From then on such a result is compared within kNoiseFactor times what it moved by.
  // Gives a line for each such, now or before. The module of Create must still be there. FailedPrecondition: there is
  // no evaluator's result (FromOutputs).
  absl::StatusOr<std::vector<std::string>> LearnNoise(const std::vector<hlo::Literal>& outputs, double factor,
                                                      double max_seconds, const std::atomic<bool>* cancel);

  // Whether LearnNoise would try another way to round.
  bool MayBeNoise() const { return module_ != nullptr && roundings_ < kRoundings; }

  // Takes these results of another implementation as right where they are near: each result that differs by at most
  // kTrustedError times its tolerance (long sums in single precision do) is from then on compared within twice that
  // difference. Gives a line for each.
  std::vector<std::string> Trust(const std::vector<hlo::Literal>& outputs, const std::string& whose);

 private:
  Verifier(std::vector<hlo::Literal> expected, TestInputs inputs);
  // The error of result `i`, by the metric of all comparisons.
  absl::StatusOr<double> Error(size_t i, const hlo::Literal& output) const;
  const hlo::Module* module_ = nullptr;
  std::vector<hlo::Literal> expected_;
  std::vector<double> tolerances_;  // of each leaf
  TestInputs inputs_;
  std::vector<hlo::Literal> given_;  // of CreateWith
  int roundings_ = 0;                // ways to round that were tried
  std::vector<double> moved_;        // what these moved each leaf by
  double finite_ = 1;
};

// LearnNoise tries a few of many ways to round, and any two of them may be compared.
inline constexpr double kNoiseFactor = 8;

inline constexpr double kTrustedError = 20;

// Share of the floating-point numbers in these arrays that are finite; 1 where there are none.
double FiniteShare(absl::Span<const hlo::Literal* const> leaves);

// What results of another order of rounding may differ by, root mean square over that of the expected values; for
// integers, the share that may differ.
double VerifyTolerance(hlo::PrimitiveType type);

}  // namespace smelt::measure

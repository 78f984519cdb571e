// The evaluator's word on a candidate's results.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tuner/measure/test_inputs.h"

namespace smelt::tuner {

class Verifier {
 public:
  // Evaluates the module in at most `max_seconds` (0: no limit), under the first kind of inputs that gives finite
  // results only; where none does, under the one that gives most.
  static absl::StatusOr<std::unique_ptr<Verifier>> Create(const hlo::Module& module, double max_seconds,
                                                          const std::atomic<bool>* cancel);
  // Expects these outputs of the module under these inputs, stored as the measuring child stores them.
  static absl::StatusOr<std::unique_ptr<Verifier>> FromOutputs(const hlo::Module& module,
                                                               const std::vector<hlo::Literal>& outputs,
                                                               InputKind inputs);

  InputKind inputs() const { return inputs_; }
  // Share of the floating-point results that are finite. At 0 a comparison says nothing.
  double finite() const { return finite_; }

  // Empty when every leaf agrees within the tolerance of its type; otherwise which does not, and by how much. Leaves as
  // the measuring child stores them (hlo::ToStorable).
  std::string Compare(const std::vector<hlo::Literal>& outputs) const;

 private:
  Verifier(std::vector<hlo::Literal> expected, InputKind inputs);
  std::vector<hlo::Literal> expected_;
  InputKind inputs_;
  double finite_ = 1;
};

// Share of the floating-point numbers in these arrays that are finite; 1 where there are none.
double FiniteShare(absl::Span<const hlo::Literal* const> leaves);

// What results of another order of rounding may differ by, root mean square over that of the expected values; for
// integers, the share that may differ.
double VerifyTolerance(hlo::PrimitiveType type);

}  // namespace smelt::tuner

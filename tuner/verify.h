// The evaluator's word on a candidate's results.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::tuner {

class Verifier {
 public:
  // Evaluates the module on its default inputs (hlo/golden/inputs.h), once, in at most `max_seconds` (0: no limit).
  static absl::StatusOr<std::unique_ptr<Verifier>> Create(const hlo::Module& module, double max_seconds,
                                                          const std::atomic<bool>* cancel);
  // Expects these outputs of the module, stored as the measuring child stores them.
  static absl::StatusOr<std::unique_ptr<Verifier>> FromOutputs(const hlo::Module& module,
                                                               const std::vector<hlo::Literal>& outputs);

  // Empty when every leaf agrees within the tolerance of its type; otherwise which does not, and by how much. Leaves as
  // the measuring child stores them (hlo::ToStorable).
  std::string Compare(const std::vector<hlo::Literal>& outputs) const;

 private:
  explicit Verifier(std::vector<hlo::Literal> expected) : expected_(std::move(expected)) {}
  std::vector<hlo::Literal> expected_;
};

// What results of another order of rounding may differ by, root mean square over that of the expected values; for
// integers, the share that may differ.
double VerifyTolerance(hlo::PrimitiveType type);

}  // namespace smelt::tuner

// What the search under --target=xla goes by until kernels are timed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::xla {

// Seconds of kernels as XLA runs them, with the bytes that each moves.
class Predictor : public gnn::Predictor {
 public:
  // The bytes of the arguments and results of a kernel that was predicted; 0 for those that nothing runs for, and for
  // others. Thread-safe.
  virtual double Bytes(const Hash128& hash) const = 0;
};

// Memory traffic or arithmetic, whichever takes longer, with everything computed again that is read again
// (fusion/kernel_cost.h).
std::unique_ptr<Predictor> RoughPredictor();

// A model that was trained on kernels timed under XLA (docs/xla-model.md). Kernels without a loop are as it says,
// copies that change nothing but the layout as the rough cost says: models do not see layouts.
absl::StatusOr<std::unique_ptr<Predictor>> LearnedPredictor(const std::string& model, const cpu::Target& target);

// Path of models/xla-cpu.smeltmodel beside the program (gnn/shipped_model.h); empty when there is none.
std::string ShippedXlaModelPath();

}  // namespace smelt::xla

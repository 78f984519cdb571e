// What the search under --target=xla goes by until kernels are timed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "machine/machine.h"

namespace smelt::xla {

// All of them tell the bytes that kernels move (gnn::Predictor::BytesMoved).

// Memory traffic or arithmetic, whichever takes longer, with everything computed again that is read again
// (fusion/kernel_cost.h).
std::unique_ptr<gnn::Predictor> RoughPredictor();

// A model that was trained on kernels timed under XLA (docs/xla-model.md). Kernels without a loop are as it says,
// copies that change nothing but the layout as the rough cost says: models do not see layouts.
absl::StatusOr<std::unique_ptr<gnn::Predictor>> LearnedPredictor(const std::string& model,
                                                                 const machine::Machine& machine);

// Path of models/xla-cpu.smeltmodel beside the program (gnn/shipped_model.h); empty when there is none.
std::string ShippedXlaModelPath();

}  // namespace smelt::xla

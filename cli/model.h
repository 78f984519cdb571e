// Which model a verb predicts with.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cli {

inline constexpr const char* kModelHelp =
    "Model file; `analytical`: the analytical model; by default the shipped model";

// The file named, or models/cpu.smeltmodel as shipped, or the analytical model where that is asked for. Says on
// standard error which one when the choice was not the user's.
absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name, const cpu::Target& target);

// Says on standard error where the model was trained on another CPU than this one.
void WarnOfModel(const gnn::Predictor& predictor);

}  // namespace smelt::cli

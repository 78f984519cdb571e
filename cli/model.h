// Which model a verb predicts with.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "targets/target.h"

namespace smelt::cli {

inline constexpr const char* kModelHelp =
    "Model file; `analytical`: the analytical model; by default the shipped model";

// targets::Target::OpenPredictor, and a line on standard error where predictions are less than a user may expect: there
// is no shipped model, or it was trained on another CPU than this one.
absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name, const targets::Target& target);

}  // namespace smelt::cli

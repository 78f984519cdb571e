// Predictors of a target that knows by a formula of its own how long its kernels take: the formula alone, or a model
// that has it among its features.
//
//   KernelEstimate estimate = [](const hlo::Computation& kernel) { return kernels::cost::CostEstimate{}; };
//   std::unique_ptr<Predictor> predictor = EstimatePredictor("one microsecond", estimate);
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gnn/features/features.h"
#include "gnn/predictor.h"
#include "machine/machine.h"

namespace smelt::gnn {

// `name` is what Describe says.
std::unique_ptr<Predictor> EstimatePredictor(std::string name, KernelEstimate estimate);
// Loads a model as Predictor::Load does, one that was trained on features with this estimate
// (LoadOptions::estimate_of).
absl::StatusOr<std::unique_ptr<Predictor>> LoadWithEstimate(const std::string& path, const machine::Machine& target,
                                                            std::string_view kind, KernelEstimate estimate);

}  // namespace smelt::gnn

#include "cli/model.h"

#include <cstdio>
#include <filesystem>

#include "tuner/shipped_model.h"

namespace smelt::cli {

absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name, const kernels::Target& target) {
  if (name == "analytical") return gnn::Predictor::Analytical(target);
  if (!name.empty()) return gnn::Predictor::Load(name, target);
  const std::string shipped = tuner::ShippedModelPath();
  if (!shipped.empty()) return gnn::Predictor::Load(shipped, target);
  std::fprintf(stderr, "no models/cpu.smeltmodel beside the tool: predicting with the analytical model\n");
  return gnn::Predictor::Analytical(target);
}

}  // namespace smelt::cli

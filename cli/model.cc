#include "cli/model.h"

#include <cstdio>
#include <filesystem>

#include "base/status_macros.h"
#include "gnn/shipped_model.h"

namespace smelt::cli {

void WarnOfModel(const gnn::Predictor& predictor) {
  if (const std::string warning = predictor.Warning(); !warning.empty())
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
}

absl::StatusOr<std::unique_ptr<gnn::Predictor>> OpenPredictor(const std::string& name, const cpu::Target& target) {
  if (name == "analytical") return gnn::Predictor::Analytical(target);
  if (const std::string path = name.empty() ? gnn::ShippedModelPath() : name; !path.empty()) {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<gnn::Predictor> predictor, gnn::Predictor::Load(path, target));
    WarnOfModel(*predictor);
    return predictor;
  }
  std::fprintf(stderr, "no models/cpu.smeltmodel beside the tool: predicting with the analytical model\n");
  return gnn::Predictor::Analytical(target);
}

}  // namespace smelt::cli

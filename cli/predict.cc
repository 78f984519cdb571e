// smelt predict: seconds by kernel and in total, under a model.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fusion/kernel.h"
#include "nlohmann/json.hpp"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, model, fusion = "priority";
  bool json = false;
  TargetFlags target;
};

absl::Status Predict(const Flags& flags) {
  SMELT_ASSIGN_OR_RETURN(const OpenedProgram program, OpenProgram(flags.target, flags.module, flags.fusion));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<gnn::Predictor> predictor, OpenPredictor(flags.model, *program.target));
  const std::unique_ptr<hlo::Module> fused = program.tunable->Fused(program.trial);
  std::vector<int64_t> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused, &counts));
  std::vector<const fusion::Kernel*> pointers;
  for (const fusion::Kernel& kernel : kernels) pointers.push_back(&kernel);
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> seconds, predictor->PredictSeconds(pointers));
  double total = 0;
  for (size_t i = 0; i < kernels.size(); ++i) total += seconds[i] * static_cast<double>(counts[i]);
  if (flags.json) {
    nlohmann::json result{{"module", flags.module},
                          {"model", predictor->Describe()},
                          {"total_ms", 1e3 * total},
                          {"kernels", nlohmann::json::array()}};
    for (size_t i = 0; i < kernels.size(); ++i) {
      result["kernels"].push_back({{"name", kernels[i].name},
                                   {"hash", kernels[i].hash.ToHex()},
                                   {"count", counts[i]},
                                   {"predicted_us", 1e6 * seconds[i]}});
    }
    PrintJson(result);
    return absl::OkStatus();
  }
  std::vector<size_t> order(kernels.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return seconds[a] * static_cast<double>(counts[a]) > seconds[b] * static_cast<double>(counts[b]);
  });
  std::printf("%12s %6s %12s  %s\n", "predicted us", "times", "together us", "kernel");
  for (size_t i : order) {
    std::printf("%12.2f %6ld %12.2f  %s\n", 1e6 * seconds[i], counts[i],
                1e6 * seconds[i] * static_cast<double>(counts[i]), kernels[i].name.c_str());
  }
  std::printf(
      "%s: %.4f ms predicted for %zu distinct kernels (each counted as often as it stands in the program) by %s\n",
      flags.module.c_str(), 1e3 * total, kernels.size(), predictor->Describe().c_str());
  return absl::OkStatus();
}

}  // namespace

Action AddPredict(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODULE", flags->module, "HLO text")->required();
  app.add_option("--model", flags->model, kModelHelp);
  AddFusionFlag(app, &flags->fusion);
  AddTargetFlags(app, &flags->target);
  app.add_flag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] { return Predict(*flags); };
}

}  // namespace smelt::cli

// smelt predict: seconds by kernel and in total, under a model: of a target that code is made for here, or of another
// compiler's kernels as that fused them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fusion/kernel.h"
#include "gnn/model/model_file.h"
#include "gnn/predictor.h"
#include "hlo/file/read.h"
#include "machine/target_id.h"
#include "nlohmann/json.hpp"
#include "targets/registry.h"
#include "targets/tunable.h"

namespace smelt::cli {
namespace {

struct PredictFlags {
  std::string module, model, fusion = "priority";
  bool json = false;
  bool fusion_given = false, target_given = false;  // on the command line
  TargetFlags target;
};

// A program as kernels, and what predicts them.
struct Subject {
  std::unique_ptr<hlo::Module> fused;
  std::unique_ptr<gnn::Predictor> predictor;
};

absl::StatusOr<Subject> OnATarget(const PredictFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const OpenedProgram program, OpenProgram(flags.target, flags.module, flags.fusion));
  Subject subject;
  SMELT_ASSIGN_OR_RETURN(subject.predictor, OpenPredictor(flags.model, *program.target));
  subject.fused = program.tunable->Fused(program.trial);
  return subject;
}

// The target of a model where nothing here makes code for it: a GPU's, say, whose kernels somebody timed
// (`smelt corpus import`). Empty: the model is of a target of ours, or is no file of a model.
std::string ForeignTarget(const std::string& path) {
  if (path.empty()) return "";
  const absl::StatusOr<gnn::ModelFile> model = gnn::LoadModel(path);
  if (!model.ok() || targets::Kinds().contains(machine::TargetId::Parse(model->target).kind)) return "";
  return model->target;
}

// Kernels of a compiler that is not here are those that it made: its program is taken as it stands.
absl::StatusOr<Subject> AsItStands(const PredictFlags& flags, const std::string& target) {
  if (flags.fusion_given && flags.fusion != "given") {
    return UsageError(absl::StrCat("--fusion=", flags.fusion, ": no code is made here for `", target, "`, which ",
                                   flags.model,
                                   " predicts: give the module as its compiler fused it, and leave out --fusion"));
  }
  Subject subject;
  SMELT_ASSIGN_OR_RETURN(subject.predictor, gnn::Predictor::LoadForItsTarget(flags.model));
  SMELT_ASSIGN_OR_RETURN(subject.fused, hlo::ReadModuleFile(flags.module));
  std::fprintf(stderr, "%s predicts kernels of `%s`: the module is taken as its compiler fused it\n",
               flags.model.c_str(), target.c_str());
  return subject;
}

absl::Status Predict(const PredictFlags& flags) {
  const std::string foreign = flags.target_given ? "" : ForeignTarget(flags.model);
  SMELT_ASSIGN_OR_RETURN(const Subject subject, foreign.empty() ? OnATarget(flags) : AsItStands(flags, foreign));
  gnn::Predictor* const predictor = subject.predictor.get();
  std::vector<fusion::KernelCount> counts;
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*subject.fused, &counts));
  std::vector<const fusion::Kernel*> pointers;
  for (const fusion::Kernel& kernel : kernels) pointers.push_back(&kernel);
  SMELT_ASSIGN_OR_RETURN(const std::vector<gnn::Prediction> predictions, predictor->Predict(pointers));
  std::vector<double> seconds;
  double total = 0, variance = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    seconds.push_back(predictions[i].seconds);
    const double together = predictions[i].seconds * counts[i].runs;
    total += together;
    variance += std::pow(together * predictions[i].log_deviation, 2);
  }
  const bool tells = variance > 0;  // whether the model tells how sure it is
  if (flags.json) {
    nlohmann::json result{{"module", flags.module},
                          {"model", predictor->Describe()},
                          {"total_ms", 1e3 * total},
                          {"kernels", nlohmann::json::array()}};
    if (tells) result["total_deviation_ms"] = 1e3 * std::sqrt(variance);
    for (size_t i = 0; i < kernels.size(); ++i) {
      result["kernels"].push_back({{"name", kernels[i].name},
                                   {"hash", kernels[i].hash.ToHex()},
                                   {"count", counts[i].stands},
                                   {"runs", counts[i].runs},
                                   {"predicted_us", 1e6 * seconds[i]}});
      if (tells) result["kernels"].back()["log_deviation"] = predictions[i].log_deviation;
    }
    PrintJson(result);
    return absl::OkStatus();
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (counts[i].runs > 0) order.push_back(i);  // not the condition of a loop whose count is plain
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds[a] * counts[a].runs > seconds[b] * counts[b].runs; });
  std::printf("%12s %11s %6s %12s  %s\n", "predicted us", tells ? "+- us" : "", "times", "together us", "kernel");
  for (size_t i : order) {
    const std::string deviation = tells ? absl::StrFormat("%.2f", 1e6 * seconds[i] * predictions[i].log_deviation) : "";
    std::printf("%12.2f %11s %6.0f %12.2f  %s\n", 1e6 * seconds[i], deviation.c_str(), counts[i].runs,
                1e6 * seconds[i] * counts[i].runs, kernels[i].name.c_str());
  }
  if (tells)
    std::printf("+- is one standard deviation; of the sum, if errors were independent: %.4f ms\n",
                1e3 * std::sqrt(variance));
  std::printf("%s: %.4f ms predicted for %zu distinct kernels, each counted as often as the program runs it, by %s\n",
              flags.module.c_str(), 1e3 * total, order.size(), predictor->Describe().c_str());
  return absl::OkStatus();
}

}  // namespace

Action AddPredict(Arguments& arguments) {
  auto flags = std::make_shared<PredictFlags>();
  arguments.Add("MODULE", flags->module, "HLO text").Required();
  arguments.Add("--model", flags->model, kModelHelp);
  AddFusionFlag(arguments, &flags->fusion);
  AddTargetFlags(arguments, &flags->target);
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  const Argument fusion = arguments.Get("--fusion"), target = arguments.Get("--target");
  return [flags, fusion, target] {
    flags->fusion_given = fusion.Given();
    flags->target_given = target.Given();
    return Predict(*flags);
  };
}

}  // namespace smelt::cli

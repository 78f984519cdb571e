// smelt calibrate: a model adapted to this machine.
#include "tuner/calibrate.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "gnn/model/model_file.h"
#include "gnn/shipped_model.h"
#include "nlohmann/json.hpp"
#include "targets/calibrated_model.h"

namespace smelt::cli {
namespace {

struct CalibrateFlags {
  tuner::CalibrateOptions calibrate;
  std::string probes, output, cache;
  bool json = false;
  TargetFlags target;
};

absl::Status Calibrate(CalibrateFlags& flags) {
  Interrupt interrupt;
  const std::string cache = flags.cache.empty() ? DefaultCacheFolder() : flags.cache;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target,
                         OpenTarget(flags.target, {.cache_folder = cache, .cancel = interrupt.flag()}));
  tuner::CalibrateOptions& options = flags.calibrate;
  if (options.model.empty()) options.model = gnn::ShippedModelPath(target->id().kind, target->machine());
  if (options.model.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no shipped model of target `", target->id().kind, "`; --model names one to adapt"));
  }
  if (flags.probes.empty()) flags.probes = gnn::ShippedProbesPath();
  if (flags.probes.empty())
    return absl::NotFoundError("the probe kernels (models/probe) are not beside the tool; --probes names them");
  if (flags.output.empty()) flags.output = targets::CalibratedModelPath(target->id());
  if (flags.output.empty()) return absl::FailedPreconditionError("no cache folder is known; -o says where to write");
  options.cancel = interrupt.flag();
  std::optional<tuner::Progress> line(std::in_place);
  options.progress = &*line;
  SMELT_ASSIGN_OR_RETURN(const tuner::CalibrateReport report, tuner::CalibrateModel(flags.probes, *target, options));
  line.reset();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(flags.output).parent_path(), error);
  SMELT_RETURN_IF_ERROR(gnn::SaveModel(flags.output, report.model));
  if (flags.json) {
    PrintJson({{"model", flags.output},
               {"kernels", report.kernels},
               {"unsteady", report.unsteady},
               {"failed", report.failed},
               {"log_error_before", report.error_before},
               {"log_error", report.error},
               {"inside_90", report.inside},
               {"seconds", report.seconds}});
    return absl::OkStatus();
  }
  std::printf(
      "%s: %ld kernels timed in %.0f s (%ld in a spell left out, %ld failed): log error %.3f before, %.3f after, on "
      "every fifth, which the fit had not seen; %.0f %% of those lie in their intervals of 90 %%\n",
      flags.output.c_str(), report.kernels, report.seconds, report.unsteady, report.failed, report.error_before,
      report.error, 100 * report.inside);
  return absl::OkStatus();
}

}  // namespace

Action AddCalibrate(Arguments& arguments) {
  auto flags = std::make_shared<CalibrateFlags>();
  arguments.Add("--model", flags->calibrate.model, "Model file to adapt; by default the shipped one");
  arguments.Add("--probes", flags->probes, "Corpus whose kernels are timed; by default the shipped ones");
  arguments.Add(kOutputFlag, flags->output,
                "Model file to write; by default one in the cache folder, which predict, rank and tune then take");
  arguments.Add("--seconds", flags->calibrate.seconds, "Wall-clock time").Between(5.0, 86400.0).ShowsDefault();
  arguments.Add("--seed", flags->calibrate.seed, "Seed of the order of the kernels").ShowsDefault();
  AddTargetFlags(arguments, &flags->target);
  arguments.Add("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  arguments.AddFlag("--json", flags->json, "Machine-readable summary on standard output");
  return [flags] { return Calibrate(*flags); };
}

}  // namespace smelt::cli

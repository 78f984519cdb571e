#include "cli/tune_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "fusion/kernel.h"
#include "kernels/config/trace_file.h"
#include "nlohmann/json.hpp"
#include "targets/schedule_library.h"
#include "targets/tunable.h"
#include "tuner/progress.h"
#include "tuner/schedule/side_by_side.h"
#include "tuner/schedule/tune_schedule.h"

namespace smelt::cli {
namespace {

using nlohmann::json;
using tuner::Acquisition;
using tuner::Representation;

constexpr int kMembers = 5;  // of an ensemble, where one is asked for its doubts
constexpr int kMostThreads = 8;

const std::map<std::string, Acquisition> kAcquisitions = {
    {"mean", Acquisition::kMean}, {"ucb", Acquisition::kUpperBound}, {"ei", Acquisition::kExpectedImprovement}};
const std::map<std::string, Representation> kFeatures = {{"relation", Representation::kContextRelation},
                                                         {"flattened", Representation::kFlattened},
                                                         {"invariant", Representation::kInvariant},
                                                         {"knobs", Representation::kKnobs}};

template <typename Value>
std::vector<std::string> Names(const std::map<std::string, Value>& table) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : table) names.push_back(name);
  return names;
}

absl::StatusOr<fusion::Kernel> FindKernel(const std::string& name, const std::string& module,
                                          const hlo::Module& fused) {
  SMELT_ASSIGN_OR_RETURN(std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(fused));
  if (fusion::Kernel* const found = fusion::FindKernel(kernels, name)) return std::move(*found);
  return absl::NotFoundError(absl::StrCat(module, ": has no kernel `", name,
                                          "` under the default fusion; `smelt inspect ", module,
                                          " --fusion=priority --kernels` lists those that there are"));
}

json ToJson(const tuner::ScheduleReport& report) {
  json trials = json::array();
  for (const tuner::ScheduleTrialPoint& trial : report.trials) {
    json point{{"config", trial.config}};
    if (trial.failure.empty()) {
      point["relative"] = trial.relative;
    } else {
      point["failure"] = trial.failure;
    }
    trials.push_back(std::move(point));
  }
  json result{{"strategy", report.strategy},
              {"space", report.space_size},
              {"trials", std::move(trials)},
              {"measured", report.measured},
              {"known", report.known},
              {"failed", report.failed},
              {"transferred", report.transferred},
              {"config", report.best ? report.best->ToString() : ""},
              {"best_relative", report.best ? json(report.best_relative) : json()},
              {"default_us", 1e6 * report.default_seconds},
              {"best_us", 1e6 * report.best_seconds},
              {"improved", report.improved},
              {"verified", report.verified},
              {"unchecked", report.unchecked},
              {"difference", report.difference},
              {"search_seconds", report.search_seconds},
              {"model_seconds", report.model_seconds},
              {"hardware_seconds", report.hardware_seconds},
              {"interrupted", report.interrupted},
              {"speedup", json()},
              {"interval", json()}};
  if (report.compared) {
    result["speedup"] = std::exp(report.compared->gain);
    if (report.compared->children > 1)
      result["interval"] = {std::exp(report.compared->low), std::exp(report.compared->high)};
  }
  return result;
}

std::string ToText(const std::string& kernel, const std::string& folder, const tuner::ScheduleReport& report) {
  std::string text =
      absl::StrFormat("kernel %s: %s in a space of %s schedules\n", kernel, report.strategy, report.space_size);
  absl::StrAppend(
      &text,
      absl::StrFormat("  trials    %d measured, %d from the records, %d failed; %.0f s, of which %.1f "
                      "s choosing\n",
                      report.measured, report.known, report.failed, report.search_seconds, report.model_seconds));
  if (!report.best) return absl::StrCat(text, "  nothing ran: the default is the answer\n");
  absl::StrAppend(&text, absl::StrFormat("  default   %10.2f us\n  best      %10.2f us\n", 1e6 * report.default_seconds,
                                         1e6 * report.best_seconds));
  if (report.compared) {
    const measure::Comparison& compared = *report.compared;
    absl::StrAppend(&text, absl::StrFormat("  speed     %10.3f [%.3f, %.3f] times the default's, %d processes\n",
                                           std::exp(compared.gain), std::exp(compared.low), std::exp(compared.high),
                                           compared.children));
  }
  absl::StrAppend(&text, "  answer    ",
                  report.improved ? report.best->ToString() : "the default: no gain is beyond doubt", "\n");
  if (!report.difference.empty()) {
    absl::StrAppend(&text, "  WRONG     ", report.difference, "\n");
  } else if (!report.unchecked.empty()) {
    absl::StrAppend(&text, "  checked   against the default alone: ", report.unchecked, "\n");
  } else if (report.verified) {
    absl::StrAppend(&text, "  checked   equal to the evaluator's result\n");
  }
  return absl::StrCat(text, "  folder    ", folder, "\n");
}

// The answer as a file for --schedule of other verbs, and for later programs.
absl::Status KeepAnswer(const KernelFlags& flags, const std::string& folder, const targets::Target& target,
                        const std::string& cache, const tuner::ScheduleTask& task,
                        const tuner::ScheduleReport& report) {
  if (!report.improved || !report.best) return absl::OkStatus();
  const fusion::Kernel& kernel = *task.kernel;
  SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule, task.space.ScheduleFor(*report.best));
  SMELT_RETURN_IF_ERROR(WriteFile(
      (std::filesystem::path(folder) / absl::StrCat(kernel.hash.ToHex(), ".schedule")).string(),
      kernels::config::PrintTraces({{kernel.hash, kernel.name, target.id().ToString(), schedule.ToString()}})));
  if (!report.compared || flags.no_library) return absl::OkStatus();
  return targets::ScheduleLibrary(target, cache)
      .Keep({kernel.hash, report.best->ToString(), std::exp(report.compared->gain)});
}

}  // namespace

void AddKernelFlags(Arguments& arguments, KernelFlags* flags) {
  const std::string group = "A kernel's schedule";
  arguments
      .Add("--kernel", flags->kernel,
           "Tune the schedule of this kernel alone, by its name or hash under the default fusion")
      .Group(group);
  arguments.Add("--trials", flags->trials, "Schedules to measure, those in the folder's records included")
      .Between(1, 10000000)
      .ShowsDefault()
      .Group(group);
  arguments.Add("--until", flags->until, "End when a trial is so many times as fast as the default; 0: go on")
      .NotNegative()
      .Group(group);
  arguments.Add("--strategy", flags->strategy, "How schedules are searched")
      .OneOf(tuner::StrategyNames())
      .ShowsDefault()
      .Group(group);
  arguments.Add("--features", flags->features, "What boosted trees know of a schedule")
      .OneOf(Names(kFeatures))
      .ShowsDefault()
      .Group(group);
  arguments.Add("--acquisition", flags->acquisition, "What an ensemble's doubt is worth")
      .OneOf(Names(kAcquisitions))
      .ShowsDefault()
      .Group(group);
  arguments.Add("--members", flags->members, "Models of the ensemble; 0: as many as the acquisition needs")
      .Between(0, 64)
      .ShowsDefault()
      .Group(group);
  arguments.Add("--batch", flags->batch, "Schedules measured between two lessons of the model")
      .Between(1, 4096)
      .ShowsDefault()
      .Group(group);
  arguments.Add("--alpha", flags->alpha, "Worth of a knob's value that the batch has not, in deviations of the score")
      .NotNegative()
      .ShowsDefault()
      .Group(group);
  arguments.Add("--lambda", flags->lambda, "The best so many times the batch are chosen from; 1: by score alone")
      .Between(1.0, 1000.0)
      .ShowsDefault()
      .Group(group);
  arguments.Add("--epsilon", flags->epsilon, "Share of a batch that is drawn at random")
      .Between(0.0, 1.0)
      .ShowsDefault()
      .Group(group);
  arguments.Add("--transfer", flags->transfer, "Run folder of other kernels' schedules to learn from").Group(group);
  arguments
      .AddFlag("--no-library", flags->no_library,
               "Neither keep the schedule for later programs nor use those that were kept")
      .Group(group);
  arguments.AddFlag("--no-comparison", flags->no_comparison, "End with the best of the trials, which nothing decided")
      .Group(group);
}

bool NeedsTraining(const KernelFlags& flags) {
  return !flags.kernel.empty() && absl::StartsWith(flags.strategy, "treegru");
}

absl::Status TuneKernel(const KernelFlags& flags, const KernelRun& run) {
  Interrupt interrupt;
  const std::string cache = run.cache.empty() ? DefaultCacheFolder() : run.cache;
  SMELT_ASSIGN_OR_RETURN(
      const std::unique_ptr<targets::Target> target,
      OpenTarget(run.target, {.cache_folder = cache, .program = run.program, .cancel = interrupt.flag()}));
  if (!target->HasTiles())
    return UsageError(absl::StrCat("--kernel: kernels of --target=", target->id().kind, " have no schedules of ours"));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Tunable> tunable, target->Open(run.module, "priority"));
  SMELT_ASSIGN_OR_RETURN(const fusion::Kernel kernel,
                         FindKernel(flags.kernel, run.module, *tunable->Fused(tunable->usual())));
  SMELT_ASSIGN_OR_RETURN(const tuner::ScheduleTask task, tuner::ScheduleTask::Create(kernel, target->machine()));
  const Acquisition acquisition = kAcquisitions.at(flags.acquisition);
  std::optional<tuner::Progress> line(std::in_place);
  tuner::ScheduleOptions options{.folder = run.folder,
                                 .search = {.strategy = flags.strategy,
                                            .representation = kFeatures.at(flags.features),
                                            .members = flags.members > 0                   ? flags.members
                                                       : acquisition == Acquisition::kMean ? 1
                                                                                           : kMembers,
                                            .acquisition = acquisition,
                                            .selection = {flags.alpha, flags.lambda},
                                            .epsilon = flags.epsilon,
                                            .trials = flags.trials,
                                            .threads = tuner::UsableThreads(kMostThreads),
                                            .seed = run.seed,
                                            .tree_gru = run.tree_gru},
                                 .batch = static_cast<size_t>(flags.batch),
                                 .seconds = run.seconds,
                                 .until = flags.until > 0 ? flags.until : std::numeric_limits<double>::infinity(),
                                 .transfer = flags.transfer,
                                 .compare = !flags.no_comparison,
                                 .cancel = interrupt.flag()};
  if (!run.quiet) options.progress = [&line](const std::string& what) { line->Update(what); };
  SMELT_ASSIGN_OR_RETURN(const tuner::ScheduleReport report, tuner::TuneSchedule(task, *target, options));
  line.reset();
  SMELT_RETURN_IF_ERROR(KeepAnswer(flags, run.folder, *target, cache, task, report));
  if (run.json) {
    json result = ToJson(report);
    result["module"] = run.module;
    result["kernel"] = kernel.name;
    result["hash"] = kernel.hash.ToHex();
    result["folder"] = run.folder;
    PrintJson(result);
  } else {
    std::fputs(ToText(kernel.name, run.folder, report).c_str(), stdout);
  }
  return Interrupt::End(absl::StrCat(run.folder, " has the records; the same command goes on from there"));
}

}  // namespace smelt::cli

// smelt tune: the main job.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "measure/budget.h"
#include "nlohmann/json.hpp"
#include "targets/tunable.h"
#include "tuner/session.h"
#include "tuner/session_report.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, model, mode = "model", cache;
  tuner::TuneOptions tune;
  TargetFlags target;
  double budget = 60;
  bool no_tiles = false, json = false, quiet = false;
};

bool IsUtf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// What is tuned, and what predicts its kernels' times.
struct Job {
  std::unique_ptr<targets::Target> target;
  std::unique_ptr<targets::Tunable> tunable;
  std::unique_ptr<gnn::Predictor> predictor;
};

// DeadlineExceeded: the budget ended before the target's own passes did; `target` is open then.
absl::Status PrepareJob(const Flags& flags, const measure::Budget& budget, Job* job) {
  SMELT_ASSIGN_OR_RETURN(job->target,
                         OpenTarget(flags.target, {.cache_folder = flags.cache.empty() ? DefaultCacheFolder() : flags.cache,
                                                   .start_seconds = std::max(budget.left(), 0.0),
                                                   .cancel = flags.tune.cancel}));
  std::vector<std::string> notes;
  absl::StatusOr<std::unique_ptr<targets::Tunable>> tunable =
      job->target->Prepare(flags.module, flags.tune.folder, budget, &notes);
  for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
  if (!tunable.ok()) return tunable.status();
  job->tunable = *std::move(tunable);
  SMELT_ASSIGN_OR_RETURN(job->predictor, OpenPredictor(flags.model, *job->target));
  return absl::OkStatus();
}

nlohmann::json ToJson(const tuner::TuneReport& report, const measure::Budget& budget) {
  nlohmann::json tiles = nlohmann::json::array();
  for (const tuner::ChangedKernel& kernel : report.tiles) {
    tiles.push_back({{"name", kernel.name},
                     {"tile", kernel.tile},
                     {"default_us", 1e6 * kernel.seconds},
                     {"tuned_us", 1e6 * kernel.tuned_seconds}});
  }
  // The names of what runs in each way.
  nlohmann::json knobs = nlohmann::json::object();
  for (const tuner::ChosenKnob& knob : report.knobs) knobs[knob.way].push_back(knob.name);
  nlohmann::json starts = nlohmann::json::object();
  for (const tuner::StartingPoint& start : report.starts) {
    if (std::isfinite(start.relative)) starts[start.name] = start.relative;
  }
  nlohmann::json phases = nlohmann::json::object();
  for (int i = 0; i < measure::kPhases; ++i)
    phases[measure::kPhaseNames[i]] = budget.spent(static_cast<measure::Phase>(i));
  nlohmann::json json{{"speedup", report.speedup()},
                      {"interval", nullptr},
                      {"improved", report.improved},
                      {"undecided", report.undecided},
                      {"verified", report.verified},
                      {"difference", report.difference},
                      {"unchecked", report.unchecked},
                      {"noisy", report.noisy},
                      {"budget_seconds", budget.seconds()},
                      {"wall_seconds", budget.spent()},
                      {"phase_seconds", phases},
                      {"moves", report.moves},
                      {"moves_per_second", report.moves_per_second},
                      {"measured", report.measured},
                      {"known", report.known},
                      {"failed", report.failed},
                      {"hardware_seconds", report.hardware_seconds},
                      {"known_seconds", report.known_seconds},
                      {"default_predicted_ms", 1e3 * report.default_predicted},
                      {"best_predicted_ms", 1e3 * report.best_predicted},
                      {"kernels_gone", report.kernels_gone},
                      {"kernels_new", report.kernels_new},
                      {"tiles", tiles},
                      {"answer", report.compiler.empty() ? ""
                                 : report.answer.empty() ? "as_given"
                                                         : report.answer},
                      {"same_library_ms", 1e3 * report.own_fusions_seconds},
                      {"knobs", knobs},
                      {"starts", starts},
                      {"interrupted", report.interrupted}};
  // Where nothing was measured there are no times.
  if (report.default_seconds > 0) {
    json["default_ms"] = 1e3 * report.default_seconds;
    json["best_ms"] = 1e3 * report.best_seconds;
  }
  if (report.compared && report.compared->children > 1)
    json["interval"] = {std::exp(report.compared->low), std::exp(report.compared->high)};
  return json;
}

absl::Status Tune(Flags& flags) {
  Interrupt interrupt;
  tuner::TuneOptions& options = flags.tune;
  measure::Budget budget(flags.budget);
  options.mode = flags.mode == "hardware" ? tuner::TuneMode::kHardware : tuner::TuneMode::kModel;
  options.cancel = interrupt.flag();
  std::optional<tuner::Progress> line(std::in_place);
  if (!flags.quiet) options.progress = &*line;
  if (options.progress != nullptr) options.progress->Say(absl::StrFormat("tuning takes about %g s", flags.budget));
  options.tiles = !flags.no_tiles;
  Job job;
  const absl::Status prepared = PrepareJob(flags, budget, &job);
  tuner::TuneReport report;
  if (prepared.ok()) {
    SMELT_ASSIGN_OR_RETURN(report, tuner::Tune(*job.tunable, options, *job.predictor, budget));
  } else {
    const bool is_late = absl::IsDeadlineExceeded(prepared) && job.target != nullptr;
    const std::optional<targets::CompilersOwn> own = is_late ? job.target->compilers_own() : std::nullopt;
    if (!own) return prepared;
    SMELT_ASSIGN_OR_RETURN(report, tuner::KeepDefault(flags.module, *own, options, budget));
  }
  line.reset();
  absl::Status result =
      Interrupt::End(absl::StrCat(options.folder, " has the best so far; the same command goes on from there"));
  if (!report.difference.empty()) {  // a program whose default is wrong has no answer to rely on
    result = FailedQuietly();
    std::fprintf(stderr, "%s: the default program differs from the evaluator: %s\n", flags.module.c_str(),
                 report.difference.c_str());
  }
  if (flags.json) {
    nlohmann::json json = ToJson(report, budget);
    json["module"] = flags.module;
    json["folder"] = options.folder;
    if (job.predictor != nullptr) json["model"] = job.predictor->Describe();
    PrintJson(json);
  } else {
    std::fputs(tuner::FormatReport(flags.module, options, report, budget).c_str(), stdout);
  }
  return result;
}

}  // namespace

Action AddTune(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  tuner::TuneOptions& options = flags->tune;
  app.add_option("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension")->required();
  app.add_option(kOutputFlag, options.folder, "Run folder; one that exists is continued")->required();
  app.add_option("--model", flags->model, kModelHelp);
  app.add_option("--seed", options.seed, "Seed of the search")->capture_default_str();
  app.add_option("--moves", options.moves, "Moves of all chains together")
      ->check(CLI::Range(1L, 1000000000L))
      ->capture_default_str();
  app.add_option("--budget", flags->budget,
                 "Seconds that all of it may take, from reading the module to the verified answer")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--hardware-seconds", options.hardware_seconds,
                 "Ends the search when compiling and timing its candidates took so long, in all runs of the folder; by "
                 "default only the budget ends it")
      ->check(Positive());
  app.add_option("--start", options.start, "Where the chains start")
      ->check(CLI::IsMember({"priority", "none", "random"}))
      ->capture_default_str();
  app.add_option("--mode", flags->mode,
                 "model: search under the model, measure the best; hardware: search with measurements alone")
      ->check(CLI::IsMember({"model", "hardware"}))
      ->capture_default_str();
  app.add_option("--chains", options.chains, "Chains of annealing")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--candidates", options.candidates, "Configurations kept for measuring")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_flag("--no-tiles", flags->no_tiles, "Leave the tiles at their default");
  AddTargetFlags(app, &flags->target, FlagsFor::kTuning);
  app.add_option("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  app.add_flag("--quiet", flags->quiet, "No progress line");
  app.add_flag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    const std::string& folder = flags->tune.folder;
    if (!IsUtf8(folder))
      return UsageError(
          absl::StrCat(folder, ": the run folder's name is not UTF-8, which its reports are; give another"));
    SMELT_RETURN_IF_ERROR(ReadTargetId(flags->target).status());
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Tune(*flags);
  };
}

}  // namespace smelt::cli

// smelt tune: the main job.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cache_folder.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/known_flags.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/training_program.h"
#include "cli/tune_kernel.h"
#include "cli/verb.h"
#include "measure/budget.h"
#include "nlohmann/json.hpp"
#include "targets/registry.h"
#include "targets/tunable.h"
#include "tuner/search/rounds.h"
#include "tuner/session.h"
#include "tuner/session_report.h"
#include "tuner/several_targets.h"

namespace smelt::cli {
namespace {

struct TuneFlags {
  std::string module, model, mode = "model", cache;
  tuner::TuneOptions tune;
  KnownFlags known;
  TargetFlags target;
  double budget = 60;
  bool no_tiles = false, no_schedules = false, json = false, quiet = false;
  KernelFlags kernel;
};

// What is not is written as another character.
bool IsUtf8(const std::string& text) { return ParseJson(JsonText(nlohmann::json(text))) == nlohmann::json(text); }

// What is tuned, and what predicts its kernels' times.
struct Job {
  std::unique_ptr<targets::Target> target;
  std::unique_ptr<targets::Tunable> tunable;
  std::unique_ptr<gnn::Predictor> predictor;
};

targets::Settings SettingsOf(const TuneFlags& flags, const measure::Budget& budget) {
  return {.cache_folder = flags.cache.empty() ? DefaultCacheFolder() : flags.cache,
          .start_seconds = std::max(budget.left(), 0.0),
          .cancel = flags.tune.cancel};
}

// DeadlineExceeded: the budget ended before the target's own passes did; `target` is open then.
absl::Status PrepareJob(const TuneFlags& flags, const measure::Budget& budget, Job* job) {
  SMELT_ASSIGN_OR_RETURN(job->target, OpenTarget(flags.target, SettingsOf(flags, budget)));
  std::vector<std::string> notes;
  absl::StatusOr<std::unique_ptr<targets::Tunable>> tunable = nullptr;
  if (flags.known.given()) {
    SMELT_ASSIGN_OR_RETURN(KnownInputs known, ReadKnown(flags.known, flags.module));
    tunable = job->target->Take(std::move(known.program.split.main), "priority");
  } else {
    tunable = job->target->Prepare(flags.module, flags.tune.folder, budget, &notes);
  }
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
  nlohmann::json found = nlohmann::json::array();
  for (const tuner::BestUntil& best : report.found)
    found.push_back({{"hardware_seconds", best.hardware_seconds}, {"relative", best.relative}});
  nlohmann::json alone = nlohmann::json::array();
  for (const tuner::KernelAlone& kernel : report.alone) {
    alone.push_back({{"name", kernel.name},
                     {"executions", kernel.executions},
                     {"us", 1e6 * kernel.seconds},
                     {"fastest_us", 1e6 * kernel.fastest},
                     {"ways", kernel.ways}});
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
                      {"found", found},
                      {"kernels_alone", alone},
                      {"interrupted", report.interrupted}};
  // Where nothing was measured there are no times.
  if (report.default_seconds > 0) {
    json["default_ms"] = 1e3 * report.default_seconds;
    json["best_ms"] = 1e3 * report.best_seconds;
  }
  if (report.compared && std::isfinite(report.compared->high))
    json["interval"] = {std::exp(report.compared->low), std::exp(report.compared->high)};
  return json;
}

// What a session ends with: a program whose default is wrong has no answer to rely on.
absl::Status End(const TuneFlags& flags, const std::string& difference) {
  const absl::Status interrupted =
      Interrupt::End(absl::StrCat(flags.tune.folder, " has the best so far; the same command goes on from there"));
  if (difference.empty()) return interrupted;
  std::fprintf(stderr, "%s: the default program differs from the evaluator: %s\n", flags.module.c_str(),
               difference.c_str());
  return FailedQuietly();
}

absl::Status TuneOne(TuneFlags& flags, measure::Budget& budget, std::optional<tuner::Progress>& line) {
  Job job;
  const absl::Status prepared = PrepareJob(flags, budget, &job);
  tuner::TuneReport report;
  if (prepared.ok()) {
    SMELT_ASSIGN_OR_RETURN(report, tuner::Tune(*job.tunable, flags.tune, *job.predictor, budget));
  } else {
    const bool is_late = absl::IsDeadlineExceeded(prepared) && job.target != nullptr;
    const std::optional<targets::CompilersOwn> own = is_late ? job.target->compilers_own() : std::nullopt;
    if (!own) return prepared;
    SMELT_ASSIGN_OR_RETURN(report, tuner::KeepDefault(flags.module, *own, flags.tune, budget));
  }
  line.reset();
  absl::Status result = End(flags, report.difference);
  if (flags.json) {
    nlohmann::json json = ToJson(report, budget);
    json["module"] = flags.module;
    json["folder"] = flags.tune.folder;
    if (job.predictor != nullptr) json["model"] = job.predictor->Describe();
    PrintJson(json);
  } else {
    std::fputs(tuner::FormatReport(flags.module, flags.tune, report, budget).c_str(), stdout);
  }
  return result;
}

nlohmann::json ToJson(const tuner::SeveralReport& report, const measure::Budget& budget) {
  nlohmann::json json{
      {"baseline", report.baseline},        {"speedup", report.speedup()},        {"interval", nullptr},
      {"improved", report.improved()},      {"undecided", report.undecided},      {"wall_seconds", budget.spent()},
      {"budget_seconds", budget.seconds()}, {"targets", nlohmann::json::object()}};
  if (report.compared) json["interval"] = {std::exp(report.compared->low), std::exp(report.compared->high)};
  if (report.baseline_seconds > 0) json["baseline_ms"] = 1e3 * report.baseline_seconds;
  for (const tuner::EntrantReport& entrant : report.entrants) {
    nlohmann::json& part = json["targets"][entrant.name];
    if (entrant.status.ok()) {
      part = ToJson(entrant.report, budget);
      part["model"] = entrant.model;
    } else {
      part["error"] = std::string(entrant.status.message());
    }
    if (entrant.seconds > 0) part["in_turn_ms"] = 1e3 * entrant.seconds;
  }
  const tuner::EntrantReport& winner = report.entrants[report.winner];
  json["target"] = winner.name;
  json["verified"] = winner.report.verified;
  if (winner.seconds > 0) json["answer_ms"] = 1e3 * winner.seconds;
  return json;
}

absl::Status TuneAll(TuneFlags& flags, const std::vector<std::string>& words, measure::Budget& budget,
                     std::optional<tuner::Progress>& line) {
  std::vector<std::unique_ptr<targets::Target>> targets;
  std::vector<tuner::Entrant> entrants;
  for (const std::string& word : words) {
    TargetFlags one = flags.target;
    one.words = word;
    SMELT_ASSIGN_OR_RETURN(targets.emplace_back(), OpenTarget(one, SettingsOf(flags, budget)));
    entrants.push_back({targets.back().get(), targets.back()->id().kind,
                        [&flags](const targets::Target& target) { return OpenPredictor(flags.model, target); }});
  }
  SMELT_ASSIGN_OR_RETURN(const tuner::SeveralReport report,
                         tuner::TuneSeveral(flags.module, entrants, flags.tune, budget));
  line.reset();
  const absl::Status result = End(flags, "");
  if (flags.json) {
    nlohmann::json json = ToJson(report, budget);
    json["module"] = flags.module;
    json["folder"] = flags.tune.folder;
    PrintJson(json);
  } else {
    std::fputs(tuner::FormatReport(flags.module, flags.tune, report, budget).c_str(), stdout);
  }
  return result;
}

absl::Status Tune(TuneFlags& flags) {
  Interrupt interrupt;
  tuner::TuneOptions& options = flags.tune;
  measure::Budget budget(flags.budget);
  options.mode = flags.mode == "hardware" ? tuner::TuneMode::kHardware : tuner::TuneMode::kModel;
  options.cancel = interrupt.flag();
  options.tiles = !flags.no_tiles;
  options.schedules = !flags.no_schedules;
  if (!flags.kernel.no_library) options.library = flags.cache.empty() ? DefaultCacheFolder() : flags.cache;
  std::optional<tuner::Progress> line(std::in_place);
  if (!flags.quiet) options.progress = &*line;
  // A file that cannot be read is told at once, and then this is not true.
  std::error_code error;
  if (options.progress != nullptr && std::filesystem::exists(flags.module, error))
    options.progress->Say(absl::StrFormat("tuning takes about %g s", flags.budget));
  const std::vector<std::string> words = targets::SplitTargets(flags.target.words);
  return words.size() == 1 ? TuneOne(flags, budget, line) : TuneAll(flags, words, budget, line);
}

}  // namespace

Action AddTune(Arguments& arguments) { return AddTuneBy(arguments, nullptr, ""); }

Action AddTuneBy(Arguments& arguments, tuner::TreeGruMaker tree_gru, std::string child) {
  auto flags = std::make_shared<TuneFlags>();
  tuner::TuneOptions& options = flags->tune;
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  arguments.Add(kOutputFlag, options.folder, "Run folder; one that exists is continued").Required();
  arguments.Add("--model", flags->model, kModelHelp);
  arguments.Add("--seed", options.seed, "Seed of the search").ShowsDefault();
  arguments
      .Add("--moves", options.moves,
           absl::StrCat("Moves under the model, of all chains together; by default ", tuner::kMovesPerDecision,
                        " for each decision of the program, and at least ", tuner::kFewestMoves))
      .Between(1, 1000000000);
  const Argument budget =
      arguments
          .Add("--budget", flags->budget,
               "Seconds that all of it may take, from reading the module to the verified answer; with --kernel, that "
               "the search may take, where it is given")
          .Positive()
          .ShowsDefault();
  arguments
      .Add("--hardware-seconds", options.hardware_seconds,
           "Ends the search when compiling and timing its candidates took so long, in all runs of the folder; by "
           "default only the budget ends it")
      .Positive();
  arguments.Add("--start", options.start, "Where the chains start")
      .OneOf({"priority", "none", "random"})
      .ShowsDefault();
  arguments
      .Add("--mode", flags->mode,
           "model: search under the model, measure the best; hardware: search with measurements alone")
      .OneOf({"model", "hardware"})
      .ShowsDefault();
  arguments.Add("--chains", options.chains, "Chains of annealing").Between(1, 1024).ShowsDefault();
  arguments.Add("--candidates", options.candidates, "Configurations kept for measuring")
      .Between(1, 100000)
      .ShowsDefault();
  arguments.AddFlag("--no-tiles", flags->no_tiles, "Leave tiles and schedules at their default");
  arguments.AddFlag("--no-schedules", flags->no_schedules, "Leave schedules at their default, beside tiles");
  AddKnownFlags(arguments, &flags->known);
  AddTargetFlags(arguments, &flags->target, FlagsFor::kTuning);
  arguments.Add("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  arguments.AddFlag("--quiet", flags->quiet, "No progress line");
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  AddKernelFlags(arguments, &flags->kernel);
  return [flags, budget, tree_gru, child]() -> absl::Status {
    const std::string& folder = flags->tune.folder;
    if (!IsUtf8(folder))
      return UsageError(
          absl::StrCat(folder, ": the run folder's name is not UTF-8, which its reports are; give another"));
    std::set<std::string> kinds;
    for (const std::string& word : targets::SplitTargets(flags->target.words)) {
      TargetFlags one = flags->target;
      one.words = word;
      SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(one));
      SMELT_RETURN_IF_ERROR(CheckKnown(flags->known, id, ""));
      if (!kinds.insert(id.kind).second)
        return UsageError(absl::StrCat("--target=", flags->target.words, " names ", id.kind, " twice"));
    }
    if (NeedsTraining(flags->kernel) && tree_gru == nullptr) return BecomeTraining("tune", WordsAfterVerb());
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    if (flags->kernel.kernel.empty()) return Tune(*flags);
    return TuneKernel(flags->kernel,
                      {.module = flags->module,
                       .folder = folder,
                       .cache = flags->cache,
                       .target = flags->target,
                       .seed = flags->tune.seed,
                       .seconds = budget.Given() ? flags->budget : std::numeric_limits<double>::infinity(),
                       .json = flags->json,
                       .quiet = flags->quiet,
                       .program = child,
                       .tree_gru = tree_gru});
  };
}

}  // namespace smelt::cli

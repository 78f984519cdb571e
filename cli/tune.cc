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
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "measure/budget.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/own_kernels.h"
#include "targets/tunable.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/predictor.h"
#include "targets/xla/python.h"
#include "targets/xla/start.h"
#include "targets/xla/tiles.h"
#include "targets/xla/xla_target.h"
#include "tuner/search/rounds.h"
#include "tuner/session.h"
#include "tuner/session_report.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, model, mode = "model", cache;
  tuner::TuneOptions tune;
  TargetFlags target;
  machine::TargetId id;  // that `target` names
  XlaFlags xla;
  xla::StartOptions start;
  double budget = 60;
  bool inside_xla = false, no_tiles = false, json = false, quiet = false;
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

absl::StatusOr<Job> PrepareOwnKernels(const Flags& flags, const cpu::Target& processor, tuner::TuneOptions* options) {
  Job job;
  options->worker.target = processor.ToString();
  job.target = cpu::OwnKernels(processor);
  const targets::Simplify simplify = flags.inside_xla ? targets::Simplify::kNo : targets::Simplify::kYes;
  SMELT_ASSIGN_OR_RETURN(targets::Program program, targets::LoadProgram(flags.module, simplify));
  const fusion::Rules rules = flags.inside_xla ? xla::LoopRules() : fusion::Rules::OwnKernels();
  SMELT_ASSIGN_OR_RETURN(job.tunable, cpu::MakeTunable(*job.target, std::move(program), rules));
  SMELT_ASSIGN_OR_RETURN(job.predictor, OpenPredictor(flags.model, processor));
  return job;
}

// DeadlineExceeded: the budget ended before XLA's passes did.
absl::StatusOr<Job> PrepareXla(Flags& flags, const cpu::Target& processor, const measure::Budget& budget,
                               tuner::TuneOptions* options) {
  const std::string cache = options->worker.cache_folder;
  SMELT_ASSIGN_OR_RETURN(options->worker, xla::FindXlaWorker({.python = flags.xla.python,
                                                              .threads = flags.id.threads,
                                                              .start_seconds = std::max(budget.left(), 0.0),
                                                              .cancel = options->cancel}));
  options->worker.cache_folder = cache;
  options->policy.build_timeout = flags.xla.compile_seconds;
  flags.start.folder = options->folder;
  flags.start.compile_seconds = flags.xla.compile_seconds;
  std::vector<std::string> notes;
  absl::StatusOr<xla::XlaProgram> program =
      xla::PrepareToTune(flags.module, options->worker, options->policy, flags.start, budget, &notes);
  for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
  if (!program.ok()) return program.status();
  Job job;
  job.target = xla::XlaCpu(processor, options->worker, flags.xla.compile_seconds);
  SMELT_ASSIGN_OR_RETURN(job.tunable, xla::MakeTunable(*job.target, *std::move(program)));
  // A model that is asked for, the one that comes with the tool, or the rough cost.
  const std::string model = flags.model.empty() ? xla::ShippedXlaModelPath() : flags.model;
  job.predictor = xla::RoughPredictor();
  if (!model.empty() && model != "rough") {
    SMELT_ASSIGN_OR_RETURN(job.predictor, xla::LearnedPredictor(model, processor));
    WarnOfModel(*job.predictor);
  }
  return job;
}

// DeadlineExceeded: the budget ended before the target's own passes did.
absl::StatusOr<Job> PrepareJob(Flags& flags, const measure::Budget& budget) {
  tuner::TuneOptions& options = flags.tune;
  SMELT_ASSIGN_OR_RETURN(const cpu::Target processor,
                         ReadTargetToRun(machine::TargetId{"cpu", flags.id.cpu, flags.id.threads}.ToString()));
  options.worker.cache_folder = flags.cache.empty() ? cpu::KernelCache::DefaultFolder() : flags.cache;
  options.tiles = !flags.no_tiles;
  return IsXlaTarget(flags.target.words) ? PrepareXla(flags, processor, budget, &options)
                                         : PrepareOwnKernels(flags, processor, &options);
}

// Names of what knobs of one kind are about.
std::vector<std::string> NamesOf(const tuner::TuneReport& report, const char* way) {
  std::vector<std::string> names;
  for (const tuner::ChosenKnob& knob : report.knobs) {
    if (knob.way == way) names.push_back(knob.name);
  }
  return names;
}

nlohmann::json ToJson(const tuner::TuneReport& report, const measure::Budget& budget) {
  nlohmann::json tiles = nlohmann::json::array();
  for (const tuner::ChangedKernel& kernel : report.tiles) {
    tiles.push_back({{"name", kernel.name},
                     {"tile", kernel.tile},
                     {"default_us", 1e6 * kernel.seconds},
                     {"tuned_us", 1e6 * kernel.tuned_seconds}});
  }
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
                      {"library", NamesOf(report, xla::kLibraryTile)},
                      {"called", NamesOf(report, xla::kCallTile)},
                      {"uncut", NamesOf(report, xla::kUncutTile)},
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
  const absl::StatusOr<Job> job = PrepareJob(flags, budget);
  tuner::TuneReport report;
  if (job.ok()) {
    SMELT_ASSIGN_OR_RETURN(report, tuner::Tune(*job->tunable, options, *job->predictor, budget));
  } else {
    if (!IsXlaTarget(flags.target.words) || !absl::IsDeadlineExceeded(job.status())) return job.status();
    SMELT_ASSIGN_OR_RETURN(report, tuner::KeepDefault(flags.module, xla::OwnChoice(), options, budget));
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
    if (job.ok()) json["model"] = job->predictor->Describe();
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
  app.add_option("--moves", options.moves,
                 absl::StrCat("Moves under the model, of all chains together; by default ", tuner::kMovesPerDecision,
                              " for each decision of the program, and at least ", tuner::kFewestMoves))
      ->check(CLI::Range(1L, 1000000000L));
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
  AddTargetFlags(app, &flags->target,
                 "cpu or cpu:threads=N, or xla or xla:threads=N: the best fusions for XLA:CPU in jaxlib");
  AddXlaFlags(app, &flags->xla);
  app.add_option(
         "--library-fusions", flags->start.library,
         "With --target=xla: whether the fusions that XLA makes for its library stay as they are (kept) or each "
         "contraction is a choice (free); auto: whichever of XLA's two settings is faster")
      ->check(CLI::IsMember({"auto", "kept", "free"}))
      ->capture_default_str();
  app.add_flag("--inside-xla", flags->inside_xla,
               "With --target=cpu: MODULE is what XLA's passes left, and the kernels are for calls from XLA's program "
               "(smelt embed): fusions are those that XLA takes as well");
  app.add_option("--captured", flags->start.captured.without_library,
                 "With --target=xla: the module as XLA's passes left it with fusion and library off, captured in the "
                 "process that will run it; by default a child captures it");
  app.add_option("--captured-library", flags->start.captured.with_library, "The same with the library on");
  app.add_option("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  app.add_flag("--quiet", flags->quiet, "No progress line");
  app.add_flag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    const std::string& folder = flags->tune.folder;
    if (!IsUtf8(folder))
      return UsageError(
          absl::StrCat(folder, ": the run folder's name is not UTF-8, which its reports are; give another"));
    SMELT_ASSIGN_OR_RETURN(flags->id, ReadTargetId(flags->target));
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->xla.python));
    return Tune(*flags);
  };
}

}  // namespace smelt::cli

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
#include "targets/xla/predictor.h"
#include "targets/xla/python.h"
#include "targets/xla/start.h"
#include "tuner/session.h"
#include "tuner/session_report.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, model, mode = "model", cache;
  tuner::TuneOptions tune;
  std::string target = "cpu";
  XlaFlags xla;
  xla::StartOptions start;
  double budget = 60;
  int threads = 1;
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
  targets::Program program;
  xla::XlaProgram xla;  // --target=xla
  std::unique_ptr<gnn::Predictor> predictor;
};

// DeadlineExceeded: --target=xla, and the budget ended before XLA's passes did.
absl::StatusOr<Job> PrepareJob(Flags& flags, const Interrupt& interrupt, const measure::Budget& budget) {
  tuner::TuneOptions& options = flags.tune;
  const std::string target = absl::StrCat("cpu:threads=", flags.threads);
  SMELT_ASSIGN_OR_RETURN(options.target, ReadTargetToRun(target));
  const std::string cache = flags.cache.empty() ? cpu::KernelCache::DefaultFolder() : flags.cache;
  options.tiles = !flags.no_tiles;
  Job job;
  if (flags.target == "xla") {
    SMELT_ASSIGN_OR_RETURN(options.worker, xla::FindXlaWorker({.python = flags.xla.python,
                                                               .threads = flags.threads,
                                                               .start_seconds = std::max(budget.left(), 0.0),
                                                               .cancel = interrupt.flag()}));
    options.worker.cache_folder = cache;
    options.policy.build_timeout = flags.xla.compile_seconds;
    options.tiles = false;
    flags.start.folder = options.folder;
    flags.start.compile_seconds = flags.xla.compile_seconds;
    std::vector<std::string> notes;
    absl::StatusOr<xla::XlaProgram> program =
        xla::PrepareToTune(flags.module, options.worker, options.policy, flags.start, budget, &notes);
    for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
    if (!program.ok()) return program.status();
    job.xla = *std::move(program);
    // A model that is asked for, the one that comes with the tool, or the rough cost.
    const std::string model = flags.model.empty() ? xla::ShippedXlaModelPath() : flags.model;
    std::unique_ptr<xla::Predictor> predictor = xla::RoughPredictor();
    if (!model.empty() && model != "rough") {
      SMELT_ASSIGN_OR_RETURN(predictor, xla::LearnedPredictor(model, options.target));
      WarnOfModel(*predictor);
    }
    options.xla_predictor = predictor.get();
    job.predictor = std::move(predictor);
    return job;
  } else {
    options.worker.target = target;
    options.worker.cache_folder = cache;
    const targets::Simplify simplify = flags.inside_xla ? targets::Simplify::kNo : targets::Simplify::kYes;
    SMELT_ASSIGN_OR_RETURN(job.program, targets::LoadProgram(flags.module, simplify));
    if (flags.inside_xla) options.rules = fusion::FusionTarget::XlaCpu();
  }
  SMELT_ASSIGN_OR_RETURN(job.predictor, OpenPredictor(flags.model, options.target));
  return job;
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
  for (const tuner::StartingPoint& start : report.xla.starts) {
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
                      {"answer", report.xla.answer},
                      {"same_library_ms", 1e3 * report.xla.same_library_seconds},
                      {"library", report.xla.library},
                      {"called", report.xla.called},
                      {"uncut", report.xla.uncut},
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
  const bool xla = flags.target == "xla";
  const absl::StatusOr<Job> job = PrepareJob(flags, interrupt, budget);
  static const xla::XlaProgram kUnread;  // where there was no time to read one
  if (xla) options.xla = job.ok() ? &job->xla : &kUnread;
  tuner::TuneReport report;
  if (job.ok()) {
    const targets::Program& program = xla ? job->xla.program : job->program;
    SMELT_ASSIGN_OR_RETURN(report, tuner::Tune(program, options, *job->predictor, budget));
  } else {
    if (!xla || !absl::IsDeadlineExceeded(job.status())) return job.status();
    SMELT_ASSIGN_OR_RETURN(report, tuner::KeepXlasOwnChoice(flags.module, options, budget));
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
  app.add_option("--threads", flags->threads, "Threads of one kernel")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--no-tiles", flags->no_tiles, "Leave the tiles at their default");
  app.add_option("--target", flags->target, "cpu, or xla: the best fusions for XLA:CPU in jaxlib")
      ->check(CLI::IsMember({"cpu", "xla"}))
      ->capture_default_str();
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
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->xla.python));
    return Tune(*flags);
  };
}

}  // namespace smelt::cli

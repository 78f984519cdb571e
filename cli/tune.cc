// smelt tune: the main job.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "hlo/status_macros.h"
#include "hlo/write_file.h"
#include "kernels/compile/compile.h"
#include "nlohmann/json.hpp"
#include "tuner/session.h"
#include "tuner/session_report.h"
#include "tuner/xla/predictor.h"
#include "tuner/xla/python.h"

namespace smelt::cli {
namespace {

struct Flags {
  std::string module, model, mode = "model", cache;
  tuner::TuneOptions tune;
  std::string target = "cpu", library = "auto";
  XlaFlags xla;
  tuner::xla::CaptureFiles captured;
  int threads = 1;
  bool inside_xla = false, no_tiles = false, json = false, quiet = false;
};

// What is tuned, and what predicts its kernels' times.
struct Job {
  tuner::Program program;
  tuner::xla::XlaProgram xla;  // --target=xla
  std::unique_ptr<gnn::Predictor> predictor;
};

// XLA's own fusions, with its library's where that is the better of its two whole-program settings. The first run of a
// folder decides.
absl::Status StartFromXla(const Flags& flags, tuner::xla::XlaProgram* program) {
  const tuner::TuneOptions& options = flags.tune;
  const double seconds = flags.xla.compile_seconds;
  const std::filesystem::path note = std::filesystem::path(options.folder) / "library.txt";
  std::string choice = flags.library;
  if (choice == "auto" && program->library_fusions > 0) {
    std::string known;
    if (std::ifstream(note) >> known && (known == "kept" || known == "free")) {
      choice = known;
    } else {
      tuner::MeasurePolicy policy = options.policy;
      SMELT_ASSIGN_OR_RETURN(const bool faster, tuner::xla::LibraryIsFaster(options.worker, policy, seconds, program));
      choice = faster ? "kept" : "free";
      std::error_code ignored;
      std::filesystem::create_directories(options.folder, ignored);
      SMELT_RETURN_IF_ERROR(WriteFile(note.string(), choice + "\n"));
    }
  }
  absl::Status taken = absl::OkStatus();
  if (choice == "kept") taken = tuner::xla::TakeLibraryFusions(options.worker, seconds, program, flags.captured);
  if (!taken.ok()) std::fprintf(stderr, "without XLA's library fusions: %s\n", std::string(taken.message()).c_str());
  if (choice == "kept" && taken.ok()) return absl::OkStatus();
  if (program->fused_by_xla != nullptr) return absl::OkStatus();
  const absl::Status own = tuner::xla::FindOwnFusions(options.worker, seconds, program);
  if (!own.ok()) std::fprintf(stderr, "no start from XLA's own fusions: %s\n", std::string(own.message()).c_str());
  return absl::OkStatus();
}

absl::StatusOr<Job> PrepareJob(Flags& flags, const Interrupt& interrupt) {
  tuner::TuneOptions& options = flags.tune;
  const std::string target = absl::StrCat("cpu:threads=", flags.threads);
  SMELT_ASSIGN_OR_RETURN(options.target, kernels::Target::Parse(target));
  const std::string cache = flags.cache.empty() ? kernels::KernelCache::DefaultFolder() : flags.cache;
  options.tiles = !flags.no_tiles;
  Job job;
  if (flags.target == "xla") {
    SMELT_ASSIGN_OR_RETURN(
        options.worker,
        tuner::xla::FindXlaWorker({.python = flags.xla.python, .threads = flags.threads, .cancel = interrupt.flag()}));
    options.worker.cache_folder = cache;
    options.policy.build_timeout = flags.xla.compile_seconds;
    options.tiles = false;
    SMELT_ASSIGN_OR_RETURN(
        job.xla, tuner::xla::LoadXlaProgram(flags.module, options.worker, flags.xla.compile_seconds, flags.captured));
    const absl::Status library =
        tuner::xla::FindLibraryKernels(options.worker, flags.xla.compile_seconds, &job.xla, flags.captured);
    if (!library.ok())
      std::fprintf(stderr, "no choices of XLA's library: %s\n", std::string(library.message()).c_str());
    SMELT_RETURN_IF_ERROR(StartFromXla(flags, &job.xla));
    // A model that is asked for, the one that comes with the tool, or the rough cost.
    const std::string model = flags.model.empty() ? tuner::xla::ShippedXlaModelPath() : flags.model;
    std::unique_ptr<tuner::xla::Predictor> predictor = tuner::xla::RoughPredictor();
    if (!model.empty() && model != "rough") {
      SMELT_ASSIGN_OR_RETURN(predictor, tuner::xla::LearnedPredictor(model, options.target));
    }
    options.xla_predictor = predictor.get();
    job.predictor = std::move(predictor);
    return job;
  } else {
    options.worker.target = target;
    options.worker.cache_folder = cache;
    const tuner::Simplify simplify = flags.inside_xla ? tuner::Simplify::kNo : tuner::Simplify::kYes;
    SMELT_ASSIGN_OR_RETURN(job.program, tuner::LoadProgram(flags.module, simplify));
    if (flags.inside_xla) options.rules = fusion::FusionTarget::XlaCpu();
  }
  SMELT_ASSIGN_OR_RETURN(job.predictor, OpenPredictor(flags.model, options.target));
  return job;
}

absl::Status Tune(Flags& flags) {
  Interrupt interrupt;
  tuner::TuneOptions& options = flags.tune;
  SMELT_ASSIGN_OR_RETURN(const Job job, PrepareJob(flags, interrupt));
  gnn::Predictor* const predictor = job.predictor.get();
  const bool xla = flags.target == "xla";
  if (xla) options.xla = &job.xla;
  const tuner::Program& program = xla ? job.xla.program : job.program;
  options.mode = flags.mode == "hardware" ? tuner::TuneMode::kHardware : tuner::TuneMode::kModel;
  options.cancel = interrupt.flag();
  options.progress = !flags.quiet;
  SMELT_ASSIGN_OR_RETURN(const tuner::TuneReport report, tuner::Tune(program, options, *predictor));
  if (options.progress) std::fprintf(stderr, "\n");
  if (report.cancelled)
    std::fprintf(stderr, "interrupted: the best so far is written; the same command goes on from %s\n",
                 options.folder.c_str());
  // A program whose default is wrong has no answer to rely on.
  const absl::Status result = report.difference.empty() ? absl::OkStatus() : FailedQuietly();
  if (!result.ok()) {
    std::fprintf(stderr, "%s: the default program differs from the evaluator: %s\n", flags.module.c_str(),
                 report.difference.c_str());
  }
  if (!flags.json) {
    std::fputs(tuner::FormatReport(flags.module, options, report).c_str(), stdout);
    return result;
  }
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
  std::printf("%s\n",
              nlohmann::json{{"module", flags.module},
                             {"default_ms", 1e3 * report.default_seconds},
                             {"best_ms", 1e3 * report.best_seconds},
                             {"speedup", report.best_seconds > 0 ? report.default_seconds / report.best_seconds : 1.0},
                             {"improved", report.improved},
                             {"noise", report.noise},
                             {"verified", report.verified},
                             {"difference", report.difference},
                             {"unchecked", report.unchecked},
                             {"noisy", report.noisy},
                             {"moves", report.moves},
                             {"moves_per_second", report.moves_per_second},
                             {"measured", report.measured},
                             {"known", report.known},
                             {"failed", report.failed},
                             {"hardware_seconds", report.hardware_seconds},
                             {"default_predicted_ms", 1e3 * report.default_predicted},
                             {"best_predicted_ms", 1e3 * report.best_predicted},
                             {"kernels_gone", report.kernels_gone},
                             {"kernels_new", report.kernels_new},
                             {"tiles", tiles},
                             {"answer", report.answer},
                             {"same_library_ms", 1e3 * report.same_library_seconds},
                             {"library", report.library},
                             {"called", report.called},
                             {"uncut", report.uncut},
                             {"starts", starts},
                             {"cancelled", report.cancelled},
                             {"model", predictor->Describe()},
                             {"folder", options.folder}}
                  .dump(2)
                  .c_str());
  return result;
}

}  // namespace

Action AddTune(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  tuner::TuneOptions& options = flags->tune;
  app.add_option("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension")->required();
  app.add_option("--out", options.folder, "Run folder; gone on from when it exists")->required();
  app.add_option("--model", flags->model, kModelHelp);
  app.add_option("--seed", options.seed, "Seed of the search")->capture_default_str();
  app.add_option("--moves", options.moves, "Moves of all chains together")
      ->check(CLI::Range(1L, 1000000000L))
      ->capture_default_str();
  app.add_option("--hardware-seconds", options.hardware_seconds, "Seconds of compiling and timing candidates")
      ->check(Positive())
      ->capture_default_str();
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
         "--library-fusions", flags->library,
         "With --target=xla: whether the fusions that XLA makes for its library stay as they are (kept) or each "
         "contraction is a choice (free); auto: whichever of XLA's two settings is faster")
      ->check(CLI::IsMember({"auto", "kept", "free"}))
      ->capture_default_str();
  app.add_flag("--inside-xla", flags->inside_xla,
               "With --target=cpu: MODULE is what XLA's passes left, and the kernels are for calls from XLA's program "
               "(smelt embed): fusions are those that XLA takes as well");
  app.add_option("--captured", flags->captured.without_library,
                 "With --target=xla: the module as XLA's passes left it with fusion and library off, captured in the "
                 "process that will run it; by default a child captures it");
  app.add_option("--captured-library", flags->captured.with_library, "The same with the library on");
  app.add_option("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  app.add_flag("--quiet", flags->quiet, "No progress line");
  app.add_flag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->xla.python));
    return Tune(*flags);
  };
}

}  // namespace smelt::cli

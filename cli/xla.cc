#include "cli/xla.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "hlo/golden/safetensors.h"
#include "measure/runner.h"
#include "targets/cpu/compile/compile.h"
#include "targets/xla/python.h"
#include "targets/xla/stablehlo.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

// A folder that goes with this object.
class ScratchFolder {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) return absl::UnavailableError("the folder for temporary files (TMPDIR) is none: " + error.message());
    std::string path = (parent / ("smelt-" + std::string(6, 'X'))).string();  // as mkdtemp wants it
    if (::mkdtemp(path.data()) == nullptr)
      return absl::UnavailableError(absl::StrCat(path, ": no folder can be made there for the inputs"));
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string Path(const char* name) const { return (fs::path(path_) / name).string(); }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

absl::Status WriteInputs(const std::vector<hlo::Literal>& inputs, const std::string& path) {
  hlo::SafetensorsFile file;
  const std::vector<const hlo::Literal*> leaves = Leaves(inputs);
  for (size_t i = 0; i < leaves.size(); ++i)
    file.tensors.push_back({absl::StrCat("in.", i), hlo::ToStorable(*leaves[i])});
  return hlo::WriteSafetensors(path, file);
}

measure::Runner MakeRunner(const XlaJob& job, const XlaFlags& flags) {
  return measure::Runner(job.worker, {.build_timeout = flags.compile_seconds, .run_timeout = flags.compile_seconds});
}

}  // namespace

const char* const kXlaFusionHelp =
    "none, tvm, xla-cpu, priority, random[:SEED], given (the fusions that the module came with), or a *.fusion.json "
    "file; with --target=xla also xla (XLA's own passes) and xla-no-library (without its library of contractions)";

bool IsXlaFusion(const std::string& fusion) { return fusion == "xla" || fusion == "xla-no-library"; }

absl::Status RefuseXlaFusion(const std::string& fusion, const std::string& target) {
  if (!IsXlaFusion(fusion) || IsXlaTarget(target)) return absl::OkStatus();
  return UsageError(absl::StrCat("--fusion=", fusion, " is XLA's own choice: give --target=xla as well"));
}

bool IsXlaTarget(const std::string& target) { return target == "xla" || target.starts_with("xla:"); }

absl::StatusOr<int> XlaThreads(const std::string& target) {
  constexpr std::string_view kPrefix = "xla:threads=";
  if (target == "xla") return 1;
  int threads = 0;
  if (target.starts_with(kPrefix)) {
    const char* end = target.data() + target.size();
    const auto [last, error] = std::from_chars(target.data() + kPrefix.size(), end, threads);
    if (error == std::errc() && last == end && threads >= 1 && threads <= 1024) return threads;
  }
  return UsageError(absl::StrCat("target `", target, "`: expected xla or xla:threads=N, with N from 1 to 1024"));
}

void AddPythonFlag(CLI::App& app, std::string* python) { app.add_option("--python", *python, xla::kPythonHelp); }

absl::StatusOr<std::string> ModuleFile(const std::string& module, const std::string& python) {
  if (!xla::IsStableHlo(module)) return module;
  constexpr double kConversionSeconds = 300;
  absl::StatusOr<measure::WorkerOptions> worker = xla::FindXlaWorker({.python = python});
  if (!worker.ok()) {
    return absl::Status(worker.status().code(),
                        absl::StrCat(module, ": is StableHLO: ", std::string(worker.status().message())));
  }
  worker->cache_folder = cpu::KernelCache::DefaultFolder();
  return xla::HloOfStableHlo(module, *worker, kConversionSeconds);
}

void AddXlaFlags(CLI::App& app, XlaFlags* flags) {
  AddPythonFlag(app, &flags->python);
  app.add_option("--compile-seconds", flags->compile_seconds, "With --target=xla: limit of one of XLA's compilations")
      ->check(Positive())
      ->capture_default_str();
}

absl::StatusOr<XlaJob> PrepareXlaJob(const std::string& module, const std::string& fusion, int threads,
                                     const XlaFlags& flags, const std::atomic<bool>* cancel) {
  XlaJob job;
  WarnOfThreads(threads);
  SMELT_ASSIGN_OR_RETURN(job.worker,
                         xla::FindXlaWorker({.python = flags.python, .threads = threads, .cancel = cancel}));
  job.worker.cache_folder = cpu::KernelCache::DefaultFolder();
  SMELT_ASSIGN_OR_RETURN(job.program, xla::LoadXlaProgram(module, job.worker, flags.compile_seconds));
  if (IsXlaFusion(fusion)) {
    job.candidate = fusion == "xla" ? job.program.xla_default : job.program.xla_no_library;
    return job;
  }
  absl::StatusOr<targets::FusedProgram> made = xla::FuseXlaProgram(job.program.program, fusion, threads);
  // A configuration may be one of the program with XLA's library fusions as they are.
  std::error_code error;
  if (!made.ok() && !targets::IsFusionName(fusion) && fs::exists(fusion, error) &&
      xla::TakeLibraryFusions(job.worker, flags.compile_seconds, &job.program).ok()) {
    absl::StatusOr<targets::FusedProgram> kept = xla::FuseXlaProgram(job.program.program, fusion, threads);
    if (kept.ok()) made = std::move(kept);
  }
  if (!made.ok()) return made.status();
  const targets::FusedProgram fused = *std::move(made);
  job.fusions = 0;
  for (const hlo::Computation* computation : fused.module->ExecutedComputations()) {
    for (const hlo::Instruction* instruction : computation->Instructions())
      job.fusions += instruction->opcode() == hlo::Opcode::kFusion;
  }
  SMELT_ASSIGN_OR_RETURN(job.candidate, xla::XlaCandidate(*fused.module));
  return job;
}

absl::StatusOr<hlo::Literal> RunOnXla(const XlaJob& job, const std::vector<hlo::Literal>& inputs,
                                      const XlaFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make());
  SMELT_RETURN_IF_ERROR(WriteInputs(inputs, scratch->Path("inputs.safetensors")));
  measure::Runner runner = MakeRunner(job, flags);
  runner.UseInputsFile(scratch->Path("inputs.safetensors"));
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> outputs,
                         runner.Outputs(job.candidate, scratch->Path("outputs.safetensors")));
  const hlo::Shape& result = job.program.program.original->entry()->root()->shape();
  std::vector<const hlo::Shape*> shapes;
  result.AppendLeaves(&shapes);
  std::erase_if(shapes, [](const hlo::Shape* shape) { return !shape->IsArray(); });
  if (shapes.size() != outputs.size())
    return absl::InternalError(absl::StrCat("XLA gives ", outputs.size(), " results, expected ", shapes.size()));
  std::vector<hlo::Literal> leaves;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal leaf, hlo::FromStorable(outputs[i], *shapes[i]));
    leaves.push_back(std::move(leaf));
  }
  return Assemble(result, leaves);
}

absl::StatusOr<measure::Outcome> TimeOnXla(const XlaJob& job, const std::vector<hlo::Literal>& inputs,
                                           const XlaFlags& flags, double seconds, bool beside) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make());
  SMELT_RETURN_IF_ERROR(WriteInputs(inputs, scratch->Path("inputs.safetensors")));
  measure::Runner runner = MakeRunner(job, flags);
  runner.UseInputsFile(scratch->Path("inputs.safetensors"));
  std::vector<measure::Candidate> candidates = {job.candidate};
  if (beside) candidates.push_back(job.program.xla_default);
  constexpr int kRounds = 15;
  std::vector<measure::Outcome> outcomes = runner.TimePrograms(candidates, kRounds, seconds);
  for (const measure::Outcome& outcome : outcomes) {
    if (!outcome.ok()) {
      if (job.worker.cancel != nullptr && *job.worker.cancel) return absl::CancelledError("interrupted");
      return absl::InternalError(
          absl::StrCat("XLA: ", std::string(measure::FailureName(outcome.failure)), ": ", outcome.message));
    }
  }
  if (beside) outcomes[0].reference_seconds = outcomes[1].seconds;
  return outcomes[0];
}

}  // namespace smelt::cli

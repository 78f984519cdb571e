#include "cli/one_program.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/schedule_file.h"
#include "cli/values.h"
#include "hlo/golden/safetensors.h"
#include "targets/schedule_library.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kNoLimit = 1e9;       // seconds: whoever waits for one program may interrupt it
constexpr double kSliceSeconds = 0.5;  // of timing, after each of which an interruption is noticed

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

// The scratch folder with the inputs in it.
absl::StatusOr<std::unique_ptr<ScratchFolder>> Hand(const std::vector<hlo::Literal>& inputs, measure::Runner* runner) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<ScratchFolder> scratch, ScratchFolder::Make());
  hlo::SafetensorsFile file;
  const std::vector<const hlo::Literal*> leaves = Leaves(inputs);
  for (size_t i = 0; i < leaves.size(); ++i)
    file.tensors.push_back({absl::StrCat("in.", i), hlo::ToStorable(*leaves[i])});
  SMELT_RETURN_IF_ERROR(hlo::WriteSafetensors(scratch->Path("inputs.safetensors"), file));
  runner->UseInputsFile(scratch->Path("inputs.safetensors"));
  return scratch;
}

void Append(const std::vector<double>& more, std::vector<double>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

}  // namespace

absl::StatusOr<OneProgram> OneProgram::Open(const targets::Target& target, const std::string& path,
                                            const std::string& fusion, const KernelSchedules& kernels,
                                            const std::atomic<bool>* cancel) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<targets::Tunable> tunable, target.Open(path, fusion));
  return Make(target, std::move(tunable), fusion, kernels, cancel);
}

absl::StatusOr<OneProgram> OneProgram::Take(const targets::Target& target, std::unique_ptr<hlo::Module> module,
                                            const std::string& fusion, const KernelSchedules& kernels,
                                            const std::atomic<bool>* cancel) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<targets::Tunable> tunable, target.Take(std::move(module), fusion));
  return Make(target, std::move(tunable), fusion, kernels, cancel);
}

absl::StatusOr<OneProgram> OneProgram::Make(const targets::Target& target, std::unique_ptr<targets::Tunable> tunable,
                                            const std::string& fusion, const KernelSchedules& kernels,
                                            const std::atomic<bool>* cancel) {
  OneProgram program;
  program.cancel_ = cancel;
  program.tunable_ = std::move(tunable);
  SMELT_ASSIGN_OR_RETURN(program.trial_, program.tunable_->Named(fusion));
  if (target.HasTiles() && !kernels.library.empty()) {
    if (const std::unique_ptr<hlo::Module> fused = program.Fused())
      targets::ScheduleLibrary(target, kernels.library).AddTo(*fused, &program.trial_.tiles);
  }
  if (!kernels.file.empty()) {
    if (!target.HasTiles())
      return absl::InvalidArgumentError(
          absl::StrCat("--schedule: kernels of target ", target.id().kind, " have no schedules to choose from"));
    SMELT_ASSIGN_OR_RETURN(const targets::Knobs ways,
                           ReadSchedules(kernels.file, *program.tunable_->Fused(program.trial_)));
    for (const auto& [hash, way] : ways) program.trial_.tiles[hash] = way;
  }
  const double limit = target.BuildSeconds().value_or(kNoLimit);
  program.runner_ =
      std::make_unique<measure::Runner>(target.NewDevice(targets::DeviceUse::kTimes),
                                        measure::MeasurePolicy{.build_timeout = limit, .run_timeout = limit}, cancel);
  return program;
}

std::unique_ptr<hlo::Module> OneProgram::Fused() const {
  return trial_.compiler.empty() ? tunable_->Fused(trial_) : nullptr;
}

absl::Status OneProgram::Why(const measure::Outcome& outcome) const {
  if (cancel_ != nullptr && *cancel_) return absl::CancelledError("interrupted");
  const auto code =
      measure::IsLasting(outcome.failure) ? absl::StatusCode::kUnimplemented : absl::StatusCode::kUnavailable;
  return absl::Status(code, absl::StrCat(tunable_->program().path, ": ",
                                         std::string(measure::FailureName(outcome.failure)), ": ", outcome.message));
}

absl::StatusOr<hlo::Literal> OneProgram::Run(const std::vector<hlo::Literal>& inputs) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, Hand(inputs, runner_.get()));
  absl::StatusOr<std::vector<hlo::Literal>> outputs =
      runner_->RunOnce(tunable_->ToCandidate(trial_), scratch->Path("outputs.safetensors"));
  if (!outputs.ok()) {
    if (cancel_ != nullptr && *cancel_) return absl::CancelledError("interrupted");
    return outputs.status();
  }
  const hlo::Shape& result = module().entry()->root()->shape();
  std::vector<const hlo::Shape*> shapes;
  result.AppendLeaves(&shapes);
  std::erase_if(shapes, [](const hlo::Shape* shape) { return !shape->IsArray(); });
  if (shapes.size() != outputs->size()) {
    return absl::InternalError(
        absl::StrCat("the program gives ", outputs->size(), " results, expected ", shapes.size()));
  }
  std::vector<hlo::Literal> leaves;
  for (size_t i = 0; i < shapes.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal leaf, hlo::FromStorable((*outputs)[i], *shapes[i]));
    leaves.push_back(std::move(leaf));
  }
  return Assemble(result, leaves);
}

bool OneProgram::HasReference() const {
  return !tunable_->CompilerName().empty() && trial_.compiler != tunable_->usual().compiler;
}

absl::StatusOr<measure::Runner::ProgramResult> OneProgram::Time(const std::vector<hlo::Literal>& inputs, double seconds,
                                                                int64_t runs) {
  constexpr int kKernelRounds = 10, kMostRounds = 100000;
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> scratch, Hand(inputs, runner_.get()));
  const measure::Candidate candidate = tunable_->ToCandidate(trial_);
  const measure::Candidate reference = HasReference() ? tunable_->ToCandidate(tunable_->usual()) : candidate;
  measure::Runner::ProgramResult result;
  // The program is built and warm before the time counts.
  const measure::Outcome warm = runner_->TimeProgram(candidate, reference, 1, 0, 0).outcome;
  if (!warm.ok()) return Why(warm);
  const auto begin = Clock::now();
  const auto left = [&] { return seconds - std::chrono::duration<double>(Clock::now() - begin).count(); };
  // One run says all where times are simulated.
  if (!tunable_->target().TimesVary()) runs = 1;
  const auto enough = [&] {
    return runs > 0 ? static_cast<int64_t>(result.outcome.seconds.size()) >= runs : left() <= 0;
  };
  while (!enough()) {
    const double slice = runs > 0 ? kNoLimit : std::min(kSliceSeconds, left());
    const int rounds = static_cast<int>(
        runs > 0 ? std::min<int64_t>(runs - static_cast<int64_t>(result.outcome.seconds.size()), kMostRounds)
                 : kMostRounds);
    measure::Runner::ProgramResult more = runner_->TimeProgram(candidate, reference, rounds, slice, 0);
    if (!more.outcome.ok()) {
      if (result.outcome.seconds.empty() || cancel_ == nullptr || !*cancel_) return Why(more.outcome);
      return result;
    }
    // Without a reference the program was timed in turn with itself.
    if (!HasReference()) Append(std::exchange(more.outcome.reference_seconds, {}), &more.outcome.seconds);
    Append(result.outcome.seconds, &more.outcome.seconds);
    Append(result.outcome.reference_seconds, &more.outcome.reference_seconds);
    result = std::move(more);
  }
  // Kernels are timed in runs of their own, so that the clock does not slow the totals.
  measure::Runner::ProgramResult kernels = runner_->TimeKernelsOf(candidate, kKernelRounds);
  if (kernels.outcome.ok()) result.kernels = std::move(kernels.kernels);
  return result;
}

}  // namespace smelt::cli

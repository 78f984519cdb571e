#include "targets/xla/start.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/write_file.h"

namespace smelt::xla {
namespace {

// The part of the budget in which optional compilations may run.
constexpr double kOptionalShare = 0.4;

class Start {
 public:
  Start(const measure::WorkerOptions& worker, const measure::MeasurePolicy& policy, const StartOptions& options,
        const measure::Budget& budget, std::vector<std::string>* notes)
      : worker_(worker), policy_(policy), options_(options), budget_(budget), notes_(*notes) {}

  absl::StatusOr<XlaProgram> Prepare(const std::string& path) {
    const double seconds = std::min(options_.compile_seconds, budget_.left());
    SMELT_ASSIGN_OR_RETURN(program_, LoadXlaProgram(path, worker_, seconds, options_.captured));
    SMELT_RETURN_IF_ERROR(Optional("choices of XLA's library", [this](double seconds) {
      return FindLibraryKernels(worker_, seconds, &program_, options_.captured);
    }));
    SMELT_ASSIGN_OR_RETURN(const bool kept, LibraryIsKept());
    bool taken = false;
    if (kept) {
      SMELT_RETURN_IF_ERROR(Optional("XLA's library fusions as they are", [&](double seconds) {
        const absl::Status status = TakeLibraryFusions(worker_, seconds, &program_, options_.captured);
        taken = status.ok();
        return status;
      }));
    }
    if (taken || program_.fused_by_xla != nullptr) return std::move(program_);
    SMELT_RETURN_IF_ERROR(Optional("a start from XLA's own fusions",
                                   [this](double seconds) { return FindOwnFusions(worker_, seconds, &program_); }));
    return std::move(program_);
  }

 private:
  double OptionalSeconds() const {
    return std::min(options_.compile_seconds, kOptionalShare * budget_.seconds() - budget_.spent());
  }

  // What the search can do without. Fails only when it is interrupted.
  template <typename Step>
  absl::Status Optional(const char* what, const Step& step) {
    const double seconds = OptionalSeconds();
    const absl::Status status = seconds > 0 ? step(seconds) : absl::DeadlineExceededError("no time is left for it");
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) notes_.push_back(absl::StrCat("without ", what, ": ", std::string(status.message())));
    return absl::OkStatus();
  }

  // The first run of a folder that has the time decides.
  absl::StatusOr<bool> LibraryIsKept() {
    if (options_.library != "auto" || program_.library_fusions == 0) return options_.library == "kept";
    const std::filesystem::path note = std::filesystem::path(options_.folder) / "library.txt";
    std::string known;
    if (std::ifstream(note) >> known && (known == "kept" || known == "free")) return known == "kept";
    bool decided = false, faster = false;
    SMELT_RETURN_IF_ERROR(Optional("the better of XLA's two settings", [&](double seconds) {
      const absl::StatusOr<bool> timed = LibraryIsFaster(worker_, policy_, seconds, &program_);
      decided = timed.ok();
      faster = timed.value_or(false);
      return timed.status();
    }));
    if (!decided) return false;
    std::error_code ignored;
    std::filesystem::create_directories(options_.folder, ignored);
    SMELT_RETURN_IF_ERROR(WriteFile(note.string(), faster ? "kept\n" : "free\n"));
    return faster;
  }

  measure::KeptWorker worker_;
  const measure::MeasurePolicy& policy_;
  const StartOptions& options_;
  const measure::Budget& budget_;
  std::vector<std::string>& notes_;
  XlaProgram program_;
};

}  // namespace

absl::StatusOr<XlaProgram> PrepareToTune(const std::string& path, const measure::WorkerOptions& worker,
                                         const measure::MeasurePolicy& policy, const StartOptions& options,
                                         const measure::Budget& budget, std::vector<std::string>* notes) {
  return Start(worker, policy, options, budget, notes).Prepare(path);
}

}  // namespace smelt::xla

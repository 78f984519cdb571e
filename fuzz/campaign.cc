#include "fuzz/campaign.h"

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fuzz/generate/random.h"
#include "fuzz/reduce/reduce.h"
#include "fuzz/trial/expectation.h"
#include "hlo/text/printer.h"

namespace smelt::fuzz {
namespace {

// A folder that cannot be written is not the module's fault: the campaign ends.
absl::Status WriteError(const Verdict& verdict) {
  const bool unwritten = verdict.kind == VerdictKind::kError && verdict.stage == "write";
  return unwritten ? absl::UnavailableError(verdict.detail) : absl::OkStatus();
}

// Ended by somebody else than the module: the memory of the machine, or a person.
bool WasKilled(const ChildOutcome& outcome) {
  return outcome.kind == ChildOutcome::Kind::kCrashed && (outcome.signal == SIGKILL || outcome.signal == SIGTERM);
}

// Without the names and numbers of one module, so that equal reasons count as one.
std::string Reason(const std::string& detail) {
  std::string reason;
  bool quoted = false;
  for (char c : detail.substr(0, detail.find('\n'))) {
    if (c == '`') quoted = !quoted;
    if (quoted || c == '`') continue;
    if (c >= '0' && c <= '9') c = '#';
    if (c != '#' || reason.empty() || reason.back() != '#') reason += c;
  }
  return reason;
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? absl::UnavailableError(absl::StrCat(folder, ": ", error.message())) : absl::OkStatus();
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options) {}

  absl::StatusOr<CampaignReport> Run() {
    struct Slot {
      uint64_t index;
      std::unique_ptr<Child> child;
      bool second = false;  // after a child that somebody killed
    };
    std::vector<Slot> slots;
    int64_t started = 0;
    while (!Cancelled()) {
      const bool more = started < options_.modules && !TimeIsUp() &&
                        static_cast<int64_t>(report_.findings.size()) < options_.max_findings;
      if (more && static_cast<int>(slots.size()) < options_.jobs) {
        const uint64_t index = options_.first + static_cast<uint64_t>(started++);
        SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Child> child, Start(index));
        slots.push_back({index, std::move(child)});
        continue;
      }
      if (slots.empty()) break;
      std::vector<Child*> children;
      for (const Slot& slot : slots) children.push_back(slot.child.get());
      Child::WaitAny(children, 0.05);
      for (size_t i = 0; i < slots.size();) {
        if (!slots[i].child->Finished()) {
          ++i;
          continue;
        }
        const Slot done = std::move(slots[i]);
        slots.erase(slots.begin() + static_cast<int64_t>(i));
        if (WasKilled(done.child->outcome())) {
          if (done.second) {
            return absl::UnavailableError(absl::StrCat("module ", done.index, " of seed ", options_.seed,
                                                       ": its child was killed by another process, twice"));
          }
          SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Child> child, Start(done.index));
          slots.push_back({done.index, std::move(child), true});
          continue;
        }
        SMELT_RETURN_IF_ERROR(Take(done.index, VerdictOf(done.child->outcome())));
      }
      ShowProgress();
    }
    report_.interrupted = Cancelled();
    report_.seconds = Since(start_);
    return std::move(report_);
  }

 private:
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  bool TimeIsUp() const { return options_.seconds > 0 && Since(start_) > options_.seconds; }

  TrialOptions TrialOf(uint64_t index) const {
    TrialOptions trial = options_.trial;
    trial.seed = TrialSeed(options_.seed, index);
    trial.folder.clear();
    return trial;
  }

  std::unique_ptr<hlo::Module> MakeModule(uint64_t index) const {
    if (options_.module != nullptr) return options_.module->Clone();
    return GenerateModule(options_.seed, index, options_.generator);
  }

  std::string FolderOf(uint64_t index) const { return absl::StrCat(options_.folder, "/", options_.seed, "-", index); }

  Verdict WriteExpected(const hlo::Module& module, uint64_t index, Report& report) const {
    report.Stage("evaluate");
    const absl::StatusOr<Expectation> expectation =
        Expect(module, TrialSeed(options_.seed, index), options_.trial.evaluate_seconds);
    if (!expectation.ok()) {
      const bool refused =
          absl::IsUnimplemented(expectation.status()) || absl::IsDeadlineExceeded(expectation.status());
      return {refused ? VerdictKind::kRefused : VerdictKind::kError, "evaluate",
              std::string(expectation.status().ToString())};
    }
    report.Stage("write");
    const std::string folder = FolderOf(index);
    absl::Status written = MakeFolder(folder);
    if (written.ok()) written = WriteExpectation(folder, module, *expectation);
    if (!written.ok()) return {VerdictKind::kError, "write", std::string(written.message())};
    return {};
  }

  absl::StatusOr<std::unique_ptr<Child>> Start(uint64_t index) const {
    const TrialOptions trial = TrialOf(index);
    return Child::Start(
        [this, trial, index](Report& report) {
          report.Stage("generate");
          const std::unique_ptr<hlo::Module> module = MakeModule(index);
          report.Finish(ToText(options_.expect_only ? WriteExpected(*module, index, report)
                                                    : TryModule(*module, trial, &report)));
        },
        options_.limits);
  }

  absl::Status Take(uint64_t index, const Verdict& verdict) {
    ++report_.modules;
    report_.unstable += verdict.kind == VerdictKind::kUnstable;
    if (verdict.kind == VerdictKind::kRefused) {
      ++report_.refused;
      ++report_.refusals[Reason(verdict.detail)];
    }
    SMELT_RETURN_IF_ERROR(WriteError(verdict));
    if (!verdict.IsFinding()) return absl::OkStatus();
    CampaignFinding finding{index, verdict, "", 0};
    if (options_.progress != nullptr) {
      options_.progress->Say(absl::StrCat("module ", index, " of seed ", options_.seed, ": ",
                                          std::string(VerdictName(verdict.kind)), " in ", verdict.stage, ": ",
                                          verdict.detail));
    }
    // A generator that crashed has no module to minimise.
    if (verdict.stage != "generate" && !options_.expect_only) SMELT_RETURN_IF_ERROR(Minimise(finding));
    report_.findings.push_back(std::move(finding));
    return absl::OkStatus();
  }

  absl::Status Minimise(CampaignFinding& finding) {
    const std::unique_ptr<hlo::Module> module = MakeModule(finding.index);
    TrialOptions trial = TrialOf(finding.index);
    trial.only_config = finding.verdict.config;
    ChildLimits limits = options_.limits;
    // A hang is one again after a much shorter time, and no other failure waits for the limit.
    if (finding.verdict.kind == VerdictKind::kHang) limits.seconds = std::min(limits.seconds, 10.0);
    const auto verdict_of = [&](const hlo::Module& candidate) -> absl::StatusOr<Verdict> {
      SMELT_ASSIGN_OR_RETURN(
          const ChildOutcome outcome,
          RunInChild([&](Report& report) { report.Finish(ToText(TryModule(candidate, trial, &report))); }, limits,
                     [this] { return Cancelled(); }));
      return VerdictOf(outcome);
    };
    std::unique_ptr<hlo::Module> reduced = module->Clone();
    if (options_.minimise_seconds > 0) {
      ReduceOptions reduce;
      reduce.keep_reducers = true;
      reduce.max_seconds = options_.minimise_seconds;
      reduce.fails = [&](const hlo::Module& candidate) {
        const absl::StatusOr<Verdict> verdict = verdict_of(candidate);
        return verdict.ok() && verdict->SameAs(finding.verdict) &&
               (finding.verdict.kind != VerdictKind::kError ||
                Reason(verdict->detail) == Reason(finding.verdict.detail));
      };
      reduce.progress = [&](const ReduceProgress& progress, const hlo::Module&, bool) {
        if (options_.progress != nullptr) {
          options_.progress->Update(absl::StrCat("minimising module ", finding.index, ": ", progress.instructions,
                                                 " instructions after ", progress.tried, " tries"));
        }
        return !Cancelled();
      };
      reduced = Reduce(*module, reduce);
    }
    finding.instructions = reduced->instruction_count();
    if (options_.folder.empty()) return absl::OkStatus();
    finding.folder = FolderOf(finding.index);
    SMELT_RETURN_IF_ERROR(MakeFolder(finding.folder));
    SMELT_RETURN_IF_ERROR(smelt::WriteFile(finding.folder + "/module.hlo", hlo::ToText(*module)));
    SMELT_RETURN_IF_ERROR(smelt::WriteFile(finding.folder + "/reduced.hlo", hlo::ToText(*reduced)));
    trial.folder = finding.folder;
    const absl::StatusOr<Verdict> last = verdict_of(*reduced);
    if (last.ok()) SMELT_RETURN_IF_ERROR(WriteError(*last));
    return smelt::WriteFile(finding.folder + "/finding.txt", Describe(finding, last.ok() ? *last : finding.verdict));
  }

  std::string Describe(const CampaignFinding& finding, const Verdict& reduced) const {
    const std::string config =
        finding.verdict.config < 0
            ? "every configuration"
            : absl::StrCat("configuration ", finding.verdict.config, " (",
                           FusionName(TrialSeed(options_.seed, finding.index), finding.verdict.config), ")");
    return absl::StrCat(
        std::string(VerdictName(finding.verdict.kind)), " in ", finding.verdict.stage, ", ", config, "\n",
        finding.verdict.detail, "\n\nAs reduced: ", reduced.detail,
        "\n\nAgain, in this folder, as it was:\n  smelt fuzz module.hlo --seed=", options_.seed,
        " --first=", finding.index, " --modules=1\nAgain, as reduced, in this folder:\n",
        "  smelt run reduced.hlo --fusion=config.fusion.json --inputs=inputs.safetensors --check --no-cache\n");
  }

  void ShowProgress() {
    if (options_.progress == nullptr) return;
    const double seconds = Since(start_);
    const double rate = seconds > 0 ? static_cast<double>(report_.modules) / seconds : 0;
    std::string left;
    if (rate > 0) {
      double remaining = static_cast<double>(options_.modules - report_.modules) / rate;
      if (options_.seconds > 0) remaining = std::min(remaining, std::max(0.0, options_.seconds - seconds));
      const int64_t whole = static_cast<int64_t>(remaining);
      left = whole >= 3600 ? absl::StrFormat(", %d:%02d:%02d left", whole / 3600, whole / 60 % 60, whole % 60)
                           : absl::StrFormat(", %d:%02d left", whole / 60, whole % 60);
    }
    options_.progress->Update(absl::StrFormat("%d of %d modules, %.1f a second, %d findings, %d unstable, %d refused%s",
                                              report_.modules, options_.modules, rate, report_.findings.size(),
                                              report_.unstable, report_.refused, left));
  }

  const CampaignOptions& options_;
  CampaignReport report_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

uint64_t TrialSeed(uint64_t seed, uint64_t index) { return Random(seed ^ 0x747269616C, index).Next() >> 16; }

absl::StatusOr<CampaignReport> RunCampaign(const CampaignOptions& options) {
  if (!options.folder.empty()) SMELT_RETURN_IF_ERROR(MakeFolder(options.folder));
  if (options.folder.empty() && options.expect_only) {
    return absl::InvalidArgumentError("what is expected of the modules needs a folder to be written to (--out)");
  }
  return Campaign(options).Run();
}

}  // namespace smelt::fuzz

#include "tuner/schedule_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/kernel.h"
#include "hlo/cost_analysis.h"
#include "measure/comparison.h"
#include "tuner/schedule/strategies.h"
#include "tuner/schedule/task_scheduler.h"

namespace smelt::tuner {
namespace {

// A kernel of the program, and what became of its schedules so far.
struct Scheduling {
  const fusion::Kernel* kernel;
  std::string hash;
  double weight = 1;                   // executions in one run of the program
  std::unique_ptr<ScheduleTask> task;  // stays where it is: the search refers to it
  std::unique_ptr<Search> search;
  std::string now;         // the way that the trial has; empty: the default
  double now_seconds = 0;  // in that way, alone
  double best = 0;         // seconds that a schedule must stay below
  std::string chosen;      // empty: none
  ConfigSet tried;
  absl::flat_hash_set<Hash128> traces;
  std::vector<std::pair<Config, double>> seconds;  // 0: failed
};

class ProgramSchedules {
 public:
  ProgramSchedules(Trials& trials, const ScheduleSearchOptions& options) : trials_(trials), options_(options) {}

  absl::Status Add(const fusion::Kernel& kernel, const targets::Knobs& ways, double weight) {
    absl::StatusOr<ScheduleTask> task = ScheduleTask::Create(kernel, options_.machine);
    if (!task.ok()) return absl::OkStatus();  // what has no loop nest has no schedules
    Scheduling scheduling{.kernel = &kernel, .hash = kernel.hash.ToHex(), .weight = weight};
    const auto way = ways.find(scheduling.hash);
    if (way != ways.end()) scheduling.now = way->second;
    SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome, Measure(scheduling, scheduling.now));
    if (!outcome.ok()) return absl::OkStatus();
    scheduling.now_seconds = outcome.best();
    scheduling.best = outcome.best() * (1 - measure::kScreeningGain);
    scheduling.task = std::make_unique<ScheduleTask>(*std::move(task));
    SMELT_ASSIGN_OR_RETURN(scheduling.search, MakeSearch(*scheduling.task, {.representation = Representation::kKnobs,
                                                                            .threads = options_.threads,
                                                                            .seed = options_.seed}));
    kernels_.push_back(std::move(scheduling));
    return absl::OkStatus();
  }

  absl::Status Run() {
    if (options_.kept) {
      for (Scheduling& kernel : kernels_) {
        const std::string way = options_.kept(kernel.kernel->hash);
        if (!way.empty() && way != kernel.now) SMELT_RETURN_IF_ERROR(Try(kernel, way).status());
      }
    }
    std::vector<KernelTask> tasks;
    for (const Scheduling& kernel : kernels_) {
      const double flops = hlo::AnalyzeCost(kernel.kernel->computation()).flops;
      tasks.push_back({kernel.weight, kernel.now_seconds, flops});
    }
    TaskScheduler scheduler(std::move(tasks), {});
    while (const std::optional<size_t> next = scheduler.Next()) {
      SMELT_ASSIGN_OR_RETURN(const int64_t done, Turn(kernels_[*next]));
      if (stopped_) break;
      scheduler.Note(*next, std::max<int64_t>(done, 1), kernels_[*next].best);
      if (done == 0) scheduler.Finish(*next);
    }
    return absl::OkStatus();
  }

  std::vector<TileChoice> Choices() const {
    std::vector<TileChoice> choices;
    for (const Scheduling& kernel : kernels_) {
      if (kernel.chosen.empty()) continue;
      choices.push_back({kernel.kernel->name, kernel.hash, kernel.chosen, kernel.now_seconds, kernel.best});
      trials_.Log(absl::StrFormat("schedule %s of %s: %.1f us instead of %.1f us", kernel.chosen, kernel.kernel->name,
                                  1e6 * kernel.best, 1e6 * kernel.now_seconds));
    }
    return choices;
  }

 private:
  absl::StatusOr<measure::Outcome> Measure(const Scheduling& kernel, const std::string& way) {
    const std::string name = way.empty() ? "default" : way;  // as tiles are recorded
    return trials_.MeasureKernel(absl::StrCat(kernel.hash, " ", name), absl::StrCat(kernel.kernel->name, " ", name),
                                 [&] { return trials_.runner().TimeKernel(*kernel.kernel, way).outcome; });
  }

  // The seconds of the kernel so; 0 where it failed. What seems better is timed once more.
  absl::StatusOr<double> Try(Scheduling& kernel, const std::string& way) {
    SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome, Measure(kernel, way));
    if (!outcome.ok()) return 0.0;
    if (outcome.best() >= kernel.best) return outcome.best();
    const measure::Outcome again = trials_.runner().TimeKernel(*kernel.kernel, way).outcome;
    SMELT_RETURN_IF_ERROR(trials_.Ended());
    const double seconds = std::max(outcome.best(), again.best());
    if (!again.ok()) return 0.0;
    if (seconds < kernel.best) {
      kernel.best = seconds;
      kernel.chosen = way;
    }
    return seconds;
  }

  // Some trials of one kernel; how many. None: its space has no more.
  absl::StatusOr<int64_t> Turn(Scheduling& kernel) {
    double fastest = kernel.now_seconds;
    for (const auto& [config, seconds] : kernel.seconds) fastest = seconds > 0 ? std::min(fastest, seconds) : fastest;
    std::vector<Measured> measured;
    for (const auto& [config, seconds] : kernel.seconds)
      measured.push_back({config, seconds > 0 ? fastest / seconds : 0.0});
    SMELT_RETURN_IF_ERROR(kernel.search->proposer->Learn(measured));
    // Several points of a space may come to one schedule, which is worth one trial.
    const auto is_new = [&](const Config& config) {
      const absl::StatusOr<kernels::schedule::Schedule> schedule = kernel.task->space.ScheduleFor(config);
      return schedule.ok() && kernel.traces.insert(HashOf(schedule->ToString())).second;
    };
    SMELT_ASSIGN_OR_RETURN(const std::vector<Config> batch,
                           kernel.search->proposer->Next(options_.batch, kernel.tried, is_new));
    int64_t done = 0;
    for (const Config& config : batch) {
      stopped_ = !options_.proceed(absl::StrCat("schedule ", kernel.tried.size() + 1, " of ", kernel.kernel->name));
      if (stopped_) break;
      kernel.tried.insert(config.values());
      SMELT_ASSIGN_OR_RETURN(const double seconds, Try(kernel, config.ToString()));
      kernel.seconds.push_back({config, seconds});
      ++done;
    }
    return done;
  }

  Trials& trials_;
  const ScheduleSearchOptions& options_;
  std::vector<Scheduling> kernels_;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::vector<TileChoice>> SearchSchedules(Trials& trials, const fusion::Space& space, const Trial& trial,
                                                        const std::vector<measure::KernelRecord>& times,
                                                        const ScheduleSearchOptions& options) {
  constexpr double kLeast = 0.01;  // share of the program's time
  const std::unique_ptr<hlo::Module> fused = fusion::Apply(space, trial.config);
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused));
  std::map<std::string, double> executions;
  double total = 0;
  std::map<std::string, double> seconds;
  for (const measure::KernelRecord& record : times) {
    executions[record.hash] += static_cast<double>(record.executions);
    seconds[record.hash] += record.seconds * static_cast<double>(record.executions);
    total += record.seconds * static_cast<double>(record.executions);
  }
  ProgramSchedules schedules(trials, options);
  const auto run = [&]() -> absl::Status {
    for (const fusion::Kernel& kernel : kernels) {
      const std::string hash = kernel.hash.ToHex();
      if (!(seconds[hash] >= kLeast * total) || total == 0) continue;
      if (!options.proceed(absl::StrCat("schedules of ", kernel.name))) return absl::OkStatus();
      SMELT_RETURN_IF_ERROR(schedules.Add(kernel, trial.tiles, executions[hash]));
    }
    return schedules.Run();
  };
  const absl::Status status = run();
  // What is known when time is over counts.
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) return status;
  return schedules.Choices();
}

}  // namespace smelt::tuner

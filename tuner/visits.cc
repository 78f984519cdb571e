#include "tuner/visits.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/kernel_of_module.h"
#include "gnn/corpus/visits.h"
#include "hlo/text/parser.h"

namespace smelt::tuner {
namespace {

// Some work for the units and some for the caches: tens of microseconds on any machine.
constexpr char kReference[] = R"(HloModule reference

ENTRY body {
  a = f32[96,96]{1,0} parameter(0)
  b = f32[96,96]{1,0} parameter(1)
  d = f32[96,96]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[96,96]{1,0} maximum(d, a)
}
)";

fusion::Kernel ReferenceKernel() { return fusion::KernelOfModule(*hlo::ParseModule(kReference).value()).value(); }

std::string WayOf(const std::optional<kernels::nests::Tile>& tile) { return tile ? tile->ToString() : ""; }

class Visitor {
 public:
  Visitor(const targets::Target& target, const VisitOptions& options, const std::vector<KernelJob>& jobs,
          const std::function<absl::Status(const KernelJob&, const KernelVisit&)>& take)
      : target_(target),
        options_(options),
        jobs_(jobs),
        take_(take),
        watch_(options.watch != nullptr ? *options.watch : own_watch_),
        visits_(jobs.size(), 0),
        steady_(jobs.size(), false) {}

  absl::Status Run() {
    if (target_.KeepsCode()) CompileAll();
    std::mt19937_64 random(options_.seed);
    std::vector<size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const int visits = target_.TimesVary() ? options_.visits : 1;  // simulated times are the same for ever
    for (int round = 0; round <= visits && !Ended(); ++round) {
      // The rounds, and one more for those that only spells have seen.
      std::vector<size_t> due;
      for (const size_t i : order) {
        const bool regular = jobs_[i].visited + visits_[i] < visits && visits_[i] <= round;
        const bool once_more = visits > 1 && round == visits && visits_[i] >= visits && !steady_[i];
        if (round < visits ? regular : once_more) due.push_back(i);
      }
      if (due.empty()) continue;
      SMELT_RETURN_IF_ERROR(Round(due));
      std::shuffle(order.begin(), order.end(), random);
    }
    return absl::OkStatus();
  }

 private:
  bool Ended() const {
    return (options_.cancel != nullptr && *options_.cancel) ||
           (options_.seconds > 0 && Since(start_) > options_.seconds);
  }

  // On all cores, before anything is timed. A failure shows again, and is recorded, when the kernel is timed.
  void CompileAll() {
    const fusion::Kernel reference = ReferenceKernel();
    std::mutex mutex;
    size_t next = 0;
    const auto compile = [&] {
      measure::Runner compiler(target_.NewDevice(targets::DeviceUse::kCompiles), options_.policy, options_.cancel);
      (void)compiler.CompileKernel(reference);
      for (;;) {
        size_t mine;
        {
          const std::lock_guard lock(mutex);
          mine = next++;
        }
        if (mine >= jobs_.size() || Ended()) return;
        for (const auto& tile : jobs_[mine].tiles) (void)compiler.CompileKernel(jobs_[mine].kernel, WayOf(tile));
      }
    };
    const size_t workers =
        std::min<size_t>({jobs_.size() / 4 + 1, std::max(1u, std::thread::hardware_concurrency()), 4});
    std::vector<std::thread> threads;
    for (size_t i = 1; i < workers; ++i) threads.emplace_back(compile);
    compile();
    for (std::thread& thread : threads) thread.join();
  }

  // Each of these once, in one new process.
  absl::Status Round(const std::vector<size_t>& due) {
    static std::atomic<int64_t> processes = 0;
    const int64_t process = ++processes;
    const fusion::Kernel reference = ReferenceKernel();
    measure::Runner timer(target_.NewDevice(targets::DeviceUse::kTimes), options_.policy, options_.cancel);
    std::vector<std::pair<size_t, KernelVisit>> open;  // since the last reference time
    double pause = 0;                                  // until the reference kernel is timed again
    const auto close = [&]() -> absl::Status {
      const Clock::time_point begin = Clock::now();
      if (target_.TimesVary()) {
        const measure::Outcome outcome = target_.TimeKernel(timer, reference, "").outcome;
        if (outcome.ok()) watch_.Add(outcome.best());
      }
      for (auto& [number, visit] : open) {
        visit.drift = watch_.Drift();
        visit.unsteady = std::fabs(visit.drift) > gnn::kSteadyDrift;
        visit.reference_seconds = watch_.Around();
        ++visits_[number];
        steady_[number] = steady_[number] || !visit.unsteady;
        SMELT_RETURN_IF_ERROR(take_(jobs_[number], visit));
      }
      open.clear();
      // A target that compiles it anew each time is asked more rarely: it may take a tenth of the time.
      pause = options_.seconds_between > 0 ? std::max(options_.seconds_between, 9 * Since(begin)) : 0;
      return absl::OkStatus();
    };
    SMELT_RETURN_IF_ERROR(close());
    for (size_t i = 0; i < 2 * SpellWatch::kLeast && watch_.usual() > 0 && !watch_.IsWarm(); ++i)
      SMELT_RETURN_IF_ERROR(close());
    pause = options_.seconds_between;  // what came before started the process
    Clock::time_point last = Clock::now();
    for (size_t place = 0; place < due.size() && !Ended(); ++place) {
      KernelVisit visit = Visit(jobs_[due[place]], timer);
      if (options_.cancel != nullptr && *options_.cancel) break;
      visit.placement = absl::StrCat("process ", ::getpid(), ".", process, ", place ", place);
      open.emplace_back(due[place], std::move(visit));
      if (Since(last) < pause) continue;
      SMELT_RETURN_IF_ERROR(close());
      last = Clock::now();
    }
    return options_.cancel != nullptr && *options_.cancel ? absl::OkStatus() : close();
  }

  KernelVisit Visit(const KernelJob& job, measure::Runner& timer) const {
    KernelVisit visit;
    for (size_t i = 0; i < job.tiles.size() && !(options_.cancel != nullptr && *options_.cancel); ++i) {
      measure::Runner::KernelResult result = target_.TimeKernel(timer, job.kernel, WayOf(job.tiles[i]));
      if (i == 0) visit.trace = std::move(result.trace);
      visit.times.push_back({std::move(result.outcome), std::move(result.tile)});
    }
    return visit;
  }

  const targets::Target& target_;
  const VisitOptions& options_;
  const std::vector<KernelJob>& jobs_;
  const std::function<absl::Status(const KernelJob&, const KernelVisit&)>& take_;
  SpellWatch own_watch_;
  SpellWatch& watch_;
  std::vector<int> visits_;
  std::vector<bool> steady_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::Status VisitKernels(const targets::Target& target, const VisitOptions& options,
                          const std::vector<KernelJob>& jobs,
                          const std::function<absl::Status(const KernelJob&, const KernelVisit&)>& take) {
  if (jobs.empty()) return absl::OkStatus();
  return Visitor(target, options, jobs, take).Run();
}

}  // namespace smelt::tuner

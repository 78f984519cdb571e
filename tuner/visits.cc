#include "tuner/visits.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
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

// Some work for the units and some for the caches, from arrays beyond the first of these: a neighbour on the other
// thread of a core makes 1.26 us of it 1.4 to 1.5 on a Zen 4, where a product with everything at hand takes a hundredth
// longer.
fusion::Kernel ReferenceKernel(bool has_distances) {
  constexpr char kText[] = R"(HloModule reference

ENTRY body {
  a = f32[16,64]{1,0} parameter(0)
  b = f32[64,64]{1,0} parameter(1)
  ROOT d = f32[16,64]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";
  constexpr int64_t kDistance = 512 << 10;
  fusion::Kernel kernel = fusion::KernelOfModule(*hlo::ParseModule(kText).value()).value();
  if (has_distances) kernel.distances.assign(3, kDistance);
  return kernel;
}

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
        reference_(ReferenceKernel(target.HasDistances())),
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
    std::mutex mutex;
    size_t next = 0;
    const auto compile = [&] {
      measure::Runner compiler(target_.NewDevice(targets::DeviceUse::kCompiles), options_.policy, options_.cancel);
      (void)compiler.CompileKernel(reference_);
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

  // One tile of one of the kernels that are due.
  struct Timing {
    size_t place, tile;
    int tries = 0;
    Clock::time_point last = {};
  };

  // Each of these once, in one new process.
  absl::Status Round(const std::vector<size_t>& due) {
    constexpr int kTries = 10;
    constexpr double kPause = 0.05;  // seconds between two of them: spells last for so long
    static std::atomic<int64_t> processes = 0;
    const std::string process = absl::StrCat("process ", ::getpid(), ".", ++processes);
    measure::Runner timer(target_.NewDevice(targets::DeviceUse::kTimes), options_.policy, options_.cancel);
    if (target_.TimesVary()) WarmUp(timer);
    std::deque<Timing> waiting;
    std::vector<KernelVisit> visits(due.size());
    std::vector<size_t> left(due.size());
    for (size_t place = 0; place < due.size(); ++place) {
      left[place] = jobs_[due[place]].tiles.size();
      visits[place].times.resize(left[place]);
      visits[place].placement = absl::StrCat(process, ", place ", place);
      for (size_t tile = 0; tile < left[place]; ++tile) waiting.push_back({place, tile});
    }
    while (!waiting.empty() && !Ended()) {
      Timing timing = waiting.front();
      waiting.pop_front();
      const KernelJob& job = jobs_[due[timing.place]];
      KernelVisit& visit = visits[timing.place];
      if (timing.tries > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(kPause - Since(timing.last), 0.0)));
      measure::Runner::KernelResult result = Time(timer, job.kernel, WayOf(job.tiles[timing.tile]));
      if (options_.cancel != nullptr && *options_.cancel) break;
      const double drift = Drift(result.outcome);
      TimedTile& kept = visit.times[timing.tile];
      if (timing.tries == 0 || (result.outcome.ok() && std::fabs(drift) < std::fabs(kept.drift)))
        kept = {std::move(result.outcome), std::move(result.tile), drift};
      if (timing.tile == 0) visit.trace = std::move(result.trace);
      if (std::fabs(drift) > gnn::kSteadyDrift && ++timing.tries < kTries) {
        timing.last = Clock::now();
        waiting.push_back(timing);
        continue;
      }
      if (--left[timing.place] > 0) continue;
      visit.drift = MiddleDrift(visit.times);
      visit.unsteady = std::fabs(visit.drift) > gnn::kSteadyDrift;
      ++visits_[due[timing.place]];
      if (!visit.unsteady) steady_[due[timing.place]] = true;
      SMELT_RETURN_IF_ERROR(take_(job, visit));
      visit.times.clear();
    }
    return absl::OkStatus();
  }

  // A new process, and a watch that knows nothing yet, on the reference kernel alone.
  void WarmUp(measure::Runner& timer) {
    for (size_t i = 0; i < SpellWatch::kLeast && (i == 0 || !watch_.IsWarm()); ++i)
      (void)Drift(Time(timer, reference_, "").outcome);
  }

  measure::Runner::KernelResult Time(measure::Runner& timer, const fusion::Kernel& kernel,
                                     const std::string& way) const {
    return target_.TimeKernel(timer, kernel, way, target_.TimesVary() ? &reference_ : nullptr);
  }

  // 0 where the reference kernel was not timed about it: what failed.
  double Drift(const measure::Outcome& outcome) {
    if (outcome.reference_seconds.empty()) return 0;
    for (const double seconds : outcome.reference_seconds) watch_.Add(seconds);
    return watch_.Drift();
  }

  static double MiddleDrift(const std::vector<TimedTile>& times) {
    std::vector<double> drifts;
    for (const TimedTile& time : times) drifts.push_back(time.drift);
    std::sort(drifts.begin(), drifts.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    return drifts.empty() ? 0 : drifts[drifts.size() / 2];
  }

  const targets::Target& target_;
  const VisitOptions& options_;
  const std::vector<KernelJob>& jobs_;
  const std::function<absl::Status(const KernelJob&, const KernelVisit&)>& take_;
  SpellWatch own_watch_;
  SpellWatch& watch_;
  const fusion::Kernel reference_;
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

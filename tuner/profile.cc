#include "tuner/profile.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/incremental_fusion.h"
#include "gnn/corpus/corpus.h"
#include "hlo/text/printer.h"
#include "machine/target_id.h"
#include "measure/records/records.h"
#include "targets/program.h"

namespace smelt::tuner {
namespace {

using fusion::Kernel;

// A kernel on its way from the configuration that it was found in to the corpus.
struct Job {
  Kernel kernel;
  std::vector<std::optional<kernels::nests::Tile>> tiles;  // nullopt: the default
};

std::string WayOf(const std::optional<kernels::nests::Tile>& tile) { return tile ? tile->ToString() : ""; }

// So many kernels in a row of which nothing becomes known end a run: the next will fare no better.
constexpr int kMostFaults = 5;

// Whether an older version recorded a kernel as failed whose child somebody killed, or could not be started. It is
// timed again.
bool IsNoResult(const gnn::KernelExample& example) {
  constexpr std::string_view kTexts[] = {"died of signal 9 ",
                                         "died of signal 15 ",
                                         "cannot be started",
                                         "did not start",
                                         "no pipe for the measuring process",
                                         "ended with status 0"};
  return std::any_of(example.measurements.begin(), example.measurements.end(), [&](const gnn::Measurement& m) {
    return std::any_of(std::begin(kTexts), std::end(kTexts),
                       [&](std::string_view text) { return m.error.find(text) != std::string::npos; });
  });
}

// Kernels that the compiling child has put into the cache, for the timing child. Bounded, so that little is left to do
// when a program's time is up.
class Pipeline {
 public:
  Pipeline(measure::DeviceFactory device, const measure::MeasurePolicy& policy, const std::atomic<bool>* cancel)
      : compiler_(std::move(device), policy, cancel), thread_([this] { Compile(); }) {}
  ~Pipeline() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Push(Job job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ahead_ < kAhead; });
    ahead_ += job.tiles.size();
    waiting_.push_back(std::move(job));
    changed_.notify_all();
  }
  bool Full() const {
    std::lock_guard lock(mutex_);
    return ahead_ >= kAhead;
  }
  // The next compiled job; nothing when all that was pushed has been taken.
  std::optional<Job> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || (waiting_.empty() && !compiling_); });
    if (ready_.empty()) return std::nullopt;
    Job job = std::move(ready_.front());
    ready_.pop_front();
    ahead_ -= job.tiles.size();
    changed_.notify_all();
    return job;
  }

 private:
  static constexpr size_t kAhead = 24;  // measurements

  void Compile() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (closed_) return;
      Job job = std::move(waiting_.front());
      waiting_.pop_front();
      compiling_ = true;
      lock.unlock();
      // A failure shows again, and is recorded, when the kernel is timed.
      for (const auto& tile : job.tiles) (void)compiler_.CompileKernel(job.kernel, WayOf(tile));
      lock.lock();
      compiling_ = false;
      ready_.push_back(std::move(job));
      changed_.notify_all();
    }
  }

  measure::Runner compiler_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_, ready_;
  size_t ahead_ = 0;
  bool compiling_ = false, closed_ = false;
  std::thread thread_;
};

// Walks over the configurations of a program and hands out kernels that were not seen before.
class KernelSource {
 public:
  KernelSource(const fusion::Space& space, const targets::Target& target, const ProfileOptions& options)
      : space_(space), options_(options), random_(options.seed) {
    cost_.kernel_seconds = target.HeuristicCost();
  }

  // Calls `visit` with every kernel of one more configuration; false when there are no more configurations.
  bool Next(const std::function<void(fusion::IncrementalFusion&, const fusion::KernelRef&)>& visit) {
    static constexpr const char* kHeuristics[] = {"priority", "none", "tvm", "xla-cpu"};
    const int64_t i = next_++;
    const int64_t heuristics = options_.task == ProfileTask::kTile ? 1 : static_cast<int64_t>(std::size(kHeuristics));
    if (i < heuristics) {
      fusion::IncrementalFusion evaluator(space_, fusion::Heuristic(kHeuristics[i], space_, cost_).value());
      for (const fusion::KernelRef& kernel : evaluator.Kernels()) visit(evaluator, kernel);
      return true;
    }
    if (options_.task == ProfileTask::kTile || i - heuristics >= options_.configurations || space_.size() == 0)
      return false;
    // Half are random vectors of various densities, half are walks around the default, where searches spend their time.
    if (i % 2 == 0) {
      const double probability = std::uniform_real_distribution<double>(0.05, 0.98)(random_);
      fusion::IncrementalFusion evaluator(space_, fusion::RandomFusion(space_, probability, random_()));
      for (const fusion::KernelRef& kernel : evaluator.Kernels()) visit(evaluator, kernel);
      return true;
    }
    if (!priority_) priority_ = fusion::Heuristic("priority", space_, cost_).value();
    fusion::IncrementalFusion evaluator(space_, *priority_);
    const int64_t steps = std::min<int64_t>(20 + space_.size() / 4, 400);
    for (int64_t step = 0; step < steps; ++step) {
      evaluator.Apply(fusion::FlipMove(static_cast<int32_t>(random_() % static_cast<uint64_t>(space_.size()))));
      for (const fusion::KernelRef& kernel : evaluator.added()) visit(evaluator, kernel);
    }
    return true;
  }

 private:
  const fusion::Space& space_;
  const ProfileOptions& options_;
  std::mt19937_64 random_;
  fusion::HeuristicOptions cost_;
  std::optional<fusion::Config> priority_;
  int64_t next_ = 0;
};

class Profiler {
 public:
  Profiler(const targets::Target& target, const ProfileOptions& options)
      : target_(target),
        options_(options),
        id_(target.id()),
        timer_(target.NewDevice(targets::DeviceUse::kTimes), options.policy, options.cancel),
        device_(measure::DeviceName()),
        compiler_(target.CompilerVersion()) {}

  absl::StatusOr<ProfileReport> Run(const std::vector<std::string>& modules) {
    SMELT_ASSIGN_OR_RETURN(writer_, gnn::CorpusWriter::Open(options_.output));
    absl::StatusOr<gnn::CorpusReport> existing =
        gnn::ReadCorpus(options_.output, [&](const gnn::KernelExample& example) {
          if (!IsNoResult(example)) done_.insert(example.hash);
          const machine::TargetId known = machine::TargetId::Parse(example.target);
          if (known.Agrees(id_)) return absl::OkStatus();
          return absl::FailedPreconditionError(absl::StrCat(options_.output, ": holds kernels measured for `",
                                                            known.ToString(), "`, and not for `", id_.ToString(),
                                                            "`; a corpus is of one target: write to another folder"));
        });
    if (!existing.ok()) return existing.status();
    report_.known = static_cast<int64_t>(done_.size());
    SMELT_RETURN_IF_ERROR(TimeFloor());
    for (size_t m = static_cast<size_t>(options_.shard); m < modules.size() && !Cancelled();
         m += static_cast<size_t>(options_.shards)) {
      const std::string name = std::filesystem::path(modules[m]).filename().string();
      program_name_ = name.substr(0, name.find('.'));
      place_ = absl::StrCat("program ", m / static_cast<size_t>(options_.shards) + 1, "/",
                            (modules.size() + options_.shards - 1) / options_.shards, " ", program_name_);
      remaining_programs_ = static_cast<double>((modules.size() - m - 1) / static_cast<size_t>(options_.shards));
      const absl::StatusOr<std::unique_ptr<targets::Tunable>> program = target_.Open(modules[m], "none");
      if (!program.ok()) {
        report_.refused.push_back(absl::StrCat(modules[m], ": ", program.status().message()));
        continue;
      }
      SMELT_RETURN_IF_ERROR(ProfileProgram((*program)->space()));
      ++report_.programs;
    }
    report_.interrupted = Cancelled();
    report_.seconds = Since(start_);
    return report_;
  }

 private:
  absl::Status TimeFloor() {
    const std::optional<Kernel> empty = target_.EmptyKernel();
    if (!empty) return absl::OkStatus();
    const measure::Outcome outcome = target_.TimeKernel(timer_, *empty, "").outcome;
    if (!outcome.ok()) {
      return absl::InternalError(absl::StrCat(
          id_.ToString(), " cannot run an empty kernel: ", std::string(measure::FailureName(outcome.failure)), ": ",
          outcome.message));
    }
    report_.floor_seconds = outcome.best();
    return absl::OkStatus();
  }
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }

  absl::Status ProfileProgram(const fusion::Space& space) {
    return target_.KeepsCode() ? TimeCompiledAhead(space) : TimeAsFound(space);
  }

  // A second child compiles the next kernels while one is timed.
  absl::Status TimeCompiledAhead(const fusion::Space& space) {
    KernelSource source(space, target_, options_);
    Pipeline pipeline(target_.NewDevice(targets::DeviceUse::kCompiles), options_.policy, options_.cancel);
    const auto start = Clock::now();
    int64_t found = 0;
    std::deque<Job> jobs;
    auto enough = [&] {
      return Cancelled() || found >= options_.kernels_per_program || Since(start) > options_.seconds_per_program;
    };
    auto visit = [&](fusion::IncrementalFusion& evaluator, const fusion::KernelRef& reference) {
      if (enough() || !done_.insert(reference.hash).second) return;
      Job job{evaluator.KernelFor(reference), {std::nullopt}};
      if (!Wanted(job)) return;
      ++found;
      jobs.push_back(std::move(job));
    };
    bool more = true;
    while ((more || !jobs.empty()) && !Cancelled() && Since(start) < options_.seconds_per_program) {
      while (more && jobs.empty() && !enough()) more = source.Next(visit);
      if (enough()) more = false;
      while (!jobs.empty() && !pipeline.Full()) {
        pipeline.Push(std::move(jobs.front()));
        jobs.pop_front();
      }
      if (jobs.empty() && more && !pipeline.Full()) continue;
      std::optional<Job> job = pipeline.Pop();
      if (!job) {
        if (jobs.empty() && !more) break;
        continue;
      }
      SMELT_RETURN_IF_ERROR(Time(*job));
    }
    while (!Cancelled()) {
      std::optional<Job> job = pipeline.Pop();
      if (!job) break;
      SMELT_RETURN_IF_ERROR(Time(*job));
    }
    return absl::OkStatus();
  }

  // The child compiles what it times, so that there is nothing to be done ahead.
  absl::Status TimeAsFound(const fusion::Space& space) {
    KernelSource source(space, target_, options_);
    const auto start = Clock::now();
    int64_t found = 0;
    absl::Status status;
    const auto enough = [&] {
      return !status.ok() || Cancelled() || found >= options_.kernels_per_program ||
             Since(start) > options_.seconds_per_program;
    };
    const auto visit = [&](fusion::IncrementalFusion& evaluator, const fusion::KernelRef& reference) {
      if (enough() || !done_.insert(reference.hash).second) return;
      Job job{evaluator.KernelFor(reference), {std::nullopt}};
      if (!Wanted(job)) return;
      ++found;
      status = Time(job);
    };
    while (!enough() && source.Next(visit)) {
    }
    return status;
  }

  // Sizes, and the tiles to time.
  bool Wanted(Job& job) {
    if (target_.IsNothing(job.kernel)) return false;
    int64_t bytes = 0;
    for (const hlo::Instruction* parameter : job.kernel.computation().Parameters())
      bytes += parameter->shape().ByteSize();
    const absl::StatusOr<double> estimate = target_.RoughSeconds(job.kernel);
    if (bytes > options_.input_limit_bytes || !estimate.ok() || *estimate > options_.kernel_limit_seconds) {
      ++report_.skipped;
      return false;
    }
    if (options_.task == ProfileTask::kFusion) return true;
    absl::StatusOr<std::vector<kernels::nests::Tile>> tiles =
        kernels::nests::EnumerateTiles(job.kernel.computation(), target_.machine(), options_.tiles);
    if (!tiles.ok() || tiles->size() < 2) return false;  // nothing to rank
    // The compiler's default, which stands for the best of the preferred tiles, and the rest of the space.
    job.tiles.assign(tiles->begin() + 1, tiles->end());
    job.tiles.insert(job.tiles.begin(), std::nullopt);
    return true;
  }

  absl::Status Time(const Job& job) {
    std::vector<Timed> times;
    for (size_t i = 0; i < job.tiles.size() && !Cancelled(); ++i) {
      measure::Runner::KernelResult result = target_.TimeKernel(timer_, job.kernel, WayOf(job.tiles[i]));
      if (i == 0) trace_ = std::move(result.trace);
      times.push_back({std::move(result.outcome), std::move(result.tile)});
    }
    return Append(job, times);
  }

  struct Timed {
    measure::Outcome outcome;
    std::string tile;
  };
  // One entry of `times` a tile.
  absl::Status Append(const Job& job, const std::vector<Timed>& times) {
    if (Cancelled()) return absl::OkStatus();
    for (const Timed& result : times) {
      if (!measure::IsLasting(result.outcome.failure)) return LeaveOut(result.outcome);
    }
    faults_ = 0;
    gnn::KernelExample example;
    example.program = program_name_;
    example.kernel_text = hlo::ToText(*job.kernel.module, {});
    example.hash = job.kernel.hash;
    example.target = id_.ToString();
    example.device = device_;
    example.policy = options_.policy.ToString();
    example.compiler = compiler_;
    example.trace = trace_;
    for (size_t i = 0; i < times.size(); ++i) {
      const Timed& result = times[i];
      gnn::Measurement& m = example.measurements.emplace_back();
      m.default_tile = !job.tiles[i].has_value();
      if (job.tiles[i]) {
        m.tile = *job.tiles[i];
      } else if (absl::StatusOr<kernels::nests::Tile> tile = kernels::nests::Tile::Parse(result.tile);
                 tile.ok() && tile->algorithm == kernels::te::ConvolutionAlgorithm::kDirect) {
        m.tile = *tile;
      }
      m.seconds = result.outcome.seconds;
      if (!result.outcome.ok()) {
        m.error = absl::StrCat(std::string(measure::FailureName(result.outcome.failure)), ": ", result.outcome.message);
        ++report_.failed;
      }
    }
    SMELT_RETURN_IF_ERROR(writer_->Append(example));
    ++report_.kernels;
    if (options_.progress != nullptr) {
      const double seconds = Since(start_);
      const double left = std::min(
          remaining_programs_ * options_.seconds_per_program,
          seconds / std::max<double>(1, static_cast<double>(report_.programs) + 0.5) * (remaining_programs_ + 0.5));
      options_.progress->Update(
          absl::StrFormat("%s: %d kernels, %.1f a second, %d failed, about %.0f s left", place_, report_.kernels,
                          static_cast<double>(report_.kernels) / std::max(seconds, 1e-3), report_.failed, left));
    }
    return absl::OkStatus();
  }

  // A kernel of which nothing became known: the next run times it. Unavailable after several in a row.
  absl::Status LeaveOut(const measure::Outcome& outcome) {
    ++report_.left_out;
    report_.why_left_out = absl::StrCat(std::string(measure::FailureName(outcome.failure)), ": ", outcome.message);
    if (outcome.failure != measure::Failure::kEnvironment || ++faults_ < kMostFaults) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(options_.output, ": ", kMostFaults,
                                               " kernels one after the other could not be timed, the last for this: ",
                                               outcome.message, ". The same command goes on from here"));
  }

  const targets::Target& target_;
  const ProfileOptions& options_;
  const machine::TargetId id_;
  measure::Runner timer_;
  std::string device_, compiler_;
  std::unique_ptr<gnn::CorpusWriter> writer_;
  absl::flat_hash_set<Hash128> done_;
  std::string program_name_, place_, trace_;
  double remaining_programs_ = 0;
  int faults_ = 0;  // of the environment, one after the other
  ProfileReport report_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::StatusOr<ProfileReport> Profile(const std::vector<std::string>& modules, const targets::Target& target,
                                      const ProfileOptions& options) {
  if (!target.HasTiles() && options.task == ProfileTask::kTile) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernels of --target=", target.id().kind, " have no tiles: it profiles --task=fusion"));
  }
  return Profiler(target, options).Run(modules);
}

}  // namespace smelt::tuner

#include "tuner/profile.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/kernel_of_module.h"
#include "gnn/corpus/corpus.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"
#include "measure/records/records.h"
#include "targets/program.h"
#include "tuner/kernel_sample.h"
#include "tuner/shape_variants.h"
#include "tuner/visits.h"

namespace smelt::tuner {
namespace {

using fusion::Kernel;

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

class Profiler {
 public:
  Profiler(const targets::Target& target, const ProfileOptions& options)
      : target_(target), options_(options), id_(target.id()) {}

  absl::StatusOr<ProfileReport> Run(const std::vector<std::string>& modules) {
    SMELT_RETURN_IF_ERROR(Open());
    for (size_t m = static_cast<size_t>(options_.shard); m < modules.size() && !Cancelled();
         m += static_cast<size_t>(options_.shards)) {
      const std::string name = std::filesystem::path(modules[m]).filename().string();
      const std::string program_name = name.substr(0, name.find('.'));
      place_ = absl::StrCat("program ", m / static_cast<size_t>(options_.shards) + 1, "/",
                            (modules.size() + options_.shards - 1) / options_.shards, " ", program_name);
      const absl::StatusOr<std::unique_ptr<targets::Tunable>> program = target_.Open(modules[m], "none");
      if (!program.ok()) {
        report_.refused.push_back(absl::StrCat(modules[m], ": ", program.status().message()));
        continue;
      }
      SMELT_RETURN_IF_ERROR(TakeProgram((*program)->space(), program_name));
      ++report_.programs;
    }
    return Finish();
  }

  // The kernels of a corpus, or some of them.
  absl::StatusOr<ProfileReport> RunAgain(const std::string& corpus, const AgainOptions& again) {
    SMELT_RETURN_IF_ERROR(Open());
    place_ = corpus;
    absl::flat_hash_map<Hash128, bool> taken;
    const auto visit = [&](const gnn::KernelExample& example) -> absl::Status {
      const machine::TargetId timed = machine::TargetId::Parse(example.target);
      if (!timed.Agrees(id_)) {
        return absl::InvalidArgumentError(
            absl::StrCat(corpus, ": was measured for `", timed.ToString(), "`, and not for `", id_.ToString(), "`"));
      }
      const auto [entry, is_new] = taken.emplace(example.hash, false);
      if (!is_new || Cancelled()) return absl::OkStatus();
      const Hash128 draw = Hasher().Add(example.hash).Add(static_cast<int64_t>(options_.seed)).Finish();
      if (static_cast<double>(draw.high >> 11) * 0x1p-53 >= again.share || IsDone(example.hash))
        return absl::OkStatus();
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module,
                             hlo::ParseModule(example.kernel_text, {.file_name = example.program}));
      SMELT_ASSIGN_OR_RETURN(Kernel kernel, fusion::KernelOfModule(*module));
      kernel.distances = example.distances;
      if (again.changed && !example.IsOfOtherSchedule(target_.DefaultSchedule(kernel))) return absl::OkStatus();
      // The hash of the corpus, so that the labelings can be compared.
      KernelJob job{std::move(kernel), {}, example.program, "again", /*visited=*/0, example.hash};
      for (const gnn::Measurement& m : example.measurements) {
        const bool plain = m.default_tile || m.tile.extents.empty();
        job.tiles.push_back(plain ? std::nullopt : std::optional(m.tile));
      }
      return Push(std::move(job));
    };
    SMELT_RETURN_IF_ERROR(gnn::ReadCorpus(corpus, visit).status());
    report_.programs = 1;
    return Finish();
  }

 private:
  absl::Status Open() {
    SMELT_ASSIGN_OR_RETURN(writer_, gnn::CorpusWriter::Open(options_.output));
    const auto known = [&](const gnn::KernelExample& example) {
      if (!IsNoResult(example)) ++visits_[example.hash];
      const machine::TargetId other = machine::TargetId::Parse(example.target);
      if (other.Agrees(id_)) return absl::OkStatus();
      return absl::FailedPreconditionError(absl::StrCat(options_.output, ": holds kernels measured for `",
                                                        other.ToString(), "`, and not for `", id_.ToString(),
                                                        "`; a corpus is of one target: write to another folder"));
    };
    SMELT_RETURN_IF_ERROR(gnn::ReadCorpus(options_.output, known).status());
    report_.known = static_cast<int64_t>(visits_.size());
    record_.target = id_.ToString();
    record_.device = measure::DeviceName();
    record_.policy = options_.policy.ToString();
    record_.compiler = target_.CompilerVersion();
    record_.machine = machine::DescribeMachine(target_.machine());
    return TimeFloor();
  }
  absl::Status TimeFloor() {
    const std::optional<Kernel> empty = target_.EmptyKernel();
    if (!empty) return absl::OkStatus();
    measure::Runner timer(target_.NewDevice(targets::DeviceUse::kTimes), options_.policy, options_.cancel);
    const measure::Outcome outcome = target_.TimeKernel(timer, *empty, "").outcome;
    if (!outcome.ok()) {
      return absl::InternalError(absl::StrCat(
          id_.ToString(), " cannot run an empty kernel: ", std::string(measure::FailureName(outcome.failure)), ": ",
          outcome.message));
    }
    report_.floor_seconds = outcome.best();
    return absl::OkStatus();
  }
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  bool IsDone(const Hash128& hash) const { return Known(hash) >= (target_.TimesVary() ? options_.visits : 1); }
  int Known(const Hash128& hash) const {
    const auto found = visits_.find(hash);
    return found == visits_.end() ? 0 : found->second;
  }

  absl::Status TakeProgram(const fusion::Space& space, const std::string& name) {
    fusion::HeuristicOptions cost;
    cost.kernel_seconds = target_.HeuristicCost();
    // A quarter of the places goes to variants of the rest.
    const bool varies = options_.task == ProfileTask::kFusion && options_.variants > 0;
    const int64_t variants =
        varies ? static_cast<int64_t>(options_.variants * static_cast<double>(options_.kernels_per_program)) : 0;
    KernelSample sample = SampleKernels(space, cost,
                                        {.kernels = std::max<int64_t>(options_.kernels_per_program - variants, 1),
                                         .configurations = options_.configurations,
                                         .default_only = options_.task == ProfileTask::kTile,
                                         .seconds = options_.seconds_per_program / 4,
                                         .seed = options_.seed,
                                         .cancel = options_.cancel},
                                        [&](const Kernel& kernel) { return IsWanted(kernel); });
    if (!target_.HasDistances()) {
      for (SampledKernel& found : sample.kernels) found.kernel.distances.clear();
    }
    std::mt19937_64 random(options_.seed);
    const int64_t drawn = static_cast<int64_t>(sample.kernels.size());
    const int64_t of_sample =
        varies ? std::max<int64_t>(variants * drawn / std::max<int64_t>(options_.kernels_per_program - variants, 1), 0)
               : 0;
    for (int64_t i = 0; i < of_sample; ++i) {
      const Kernel& original = sample.kernels[random() % static_cast<uint64_t>(drawn)].kernel;
      const std::string provenance = absl::StrCat("variant:", original.hash.ToHex());
      for (Kernel& variant : ShapeVariants(original, 1, random())) {
        if (IsWanted(variant)) sample.kernels.push_back({std::move(variant), provenance});
      }
    }
    const auto start = Clock::now();
    for (SampledKernel& found : sample.kernels) {
      if (Cancelled() || Since(start) > options_.seconds_per_program) break;
      const Hash128 hash = fusion::TimedHash(found.kernel);
      if (!queued_.insert({hash, true}).second || IsDone(hash)) continue;
      KernelJob job{std::move(found.kernel), {std::nullopt}, name, std::move(found.provenance), Known(hash), hash};
      if (options_.task == ProfileTask::kTile && !AddTiles(&job)) continue;
      SMELT_RETURN_IF_ERROR(Push(std::move(job)));
    }
    return absl::OkStatus();
  }

  bool IsWanted(const Kernel& kernel) {
    if (target_.IsNothing(kernel)) return false;
    int64_t bytes = 0;
    for (const hlo::Instruction* parameter : kernel.computation().Parameters()) bytes += parameter->shape().ByteSize();
    const absl::StatusOr<double> estimate = target_.RoughSeconds(kernel);
    if (bytes <= options_.input_limit_bytes && estimate.ok() && *estimate <= options_.kernel_limit_seconds) return true;
    ++report_.skipped;
    return false;
  }
  // False: nothing to rank.
  bool AddTiles(KernelJob* job) {
    absl::StatusOr<std::vector<kernels::nests::Tile>> tiles =
        kernels::nests::EnumerateTiles(job->kernel.computation(), target_.machine(), options_.tiles);
    if (!tiles.ok() || tiles->size() < 2) return false;
    // The compiler's default, which stands for the best of the preferred tiles, and the rest of the space.
    job->tiles.assign(tiles->begin() + 1, tiles->end());
    job->tiles.insert(job->tiles.begin(), std::nullopt);
    return true;
  }

  absl::Status Push(KernelJob job) {
    // Fewer at once where each has many tiles: so much lies between two visits to a kernel.
    constexpr size_t kTimesAtOnce = 256;
    waiting_times_ += job.tiles.size();
    waiting_.push_back(std::move(job));
    return waiting_times_ >= kTimesAtOnce ? Flush() : absl::OkStatus();
  }
  absl::Status Flush() {
    std::vector<KernelJob> jobs = std::exchange(waiting_, {});
    waiting_times_ = 0;
    const VisitOptions options{options_.policy, options_.visits, options_.seed, options_.cancel, &watch_};
    return VisitKernels(target_, options, jobs,
                        [&](const KernelJob& job, const KernelVisit& visit) { return Append(job, visit); });
  }

  absl::Status Append(const KernelJob& job, const KernelVisit& visit) {
    // So many kernels in a row of which nothing becomes known end a run: the next will fare no better.
    constexpr int kMostFaults = 5;
    for (const TimedTile& result : visit.times) {
      if (measure::IsLasting(result.outcome.failure)) continue;
      ++report_.left_out;
      report_.why_left_out =
          absl::StrCat(std::string(measure::FailureName(result.outcome.failure)), ": ", result.outcome.message);
      if (result.outcome.failure != measure::Failure::kEnvironment || ++faults_ < kMostFaults) return absl::OkStatus();
      return absl::UnavailableError(absl::StrCat(options_.output, ": ", kMostFaults,
                                                 " kernels one after the other could not be timed, the last for this: ",
                                                 result.outcome.message, ". The same command goes on from here"));
    }
    faults_ = 0;
    gnn::KernelExample example = record_;
    example.program = job.program;
    example.kernel_text = hlo::ToText(*job.kernel.module, {});
    example.hash = job.hash;
    example.distances = job.kernel.distances;
    example.provenance = job.provenance;
    example.trace = visit.trace;
    example.unix_seconds = static_cast<int64_t>(std::time(nullptr));
    example.placement = visit.placement;
    example.drift = visit.drift;
    bool failed = false;
    for (size_t i = 0; i < visit.times.size(); ++i) {
      const TimedTile& result = visit.times[i];
      gnn::Measurement& m = example.measurements.emplace_back();
      m.default_tile = !job.tiles[i].has_value();
      if (job.tiles[i]) {
        m.tile = *job.tiles[i];
      } else if (absl::StatusOr<kernels::nests::Tile> tile = kernels::nests::Tile::Parse(result.tile);
                 tile.ok() && tile->algorithm == kernels::te::ConvolutionAlgorithm::kDirect) {
        m.tile = *tile;
      }
      m.seconds = result.outcome.seconds;
      m.reference_seconds = result.outcome.reference_seconds;
      if (result.outcome.ok()) continue;
      m.error = absl::StrCat(std::string(measure::FailureName(result.outcome.failure)), ": ", result.outcome.message);
      failed = true;
    }
    SMELT_RETURN_IF_ERROR(writer_->Append(example));
    if (visits_[example.hash]++ == 0) {
      ++report_.kernels;
      report_.failed += failed;
    }
    ++report_.visits;
    report_.unsteady += visit.unsteady;
    if (options_.progress != nullptr) {
      options_.progress->Update(absl::StrFormat("%s: %d kernels, %.1f a second, %d visits, %d in a spell, %d failed",
                                                place_, report_.kernels,
                                                static_cast<double>(report_.kernels) / std::max(Since(start_), 1e-3),
                                                report_.visits, report_.unsteady, report_.failed));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ProfileReport> Finish() {
    SMELT_RETURN_IF_ERROR(Flush());
    report_.interrupted = Cancelled();
    report_.seconds = Since(start_);
    return report_;
  }

  const targets::Target& target_;
  const ProfileOptions& options_;
  const machine::TargetId id_;
  std::unique_ptr<gnn::CorpusWriter> writer_;
  absl::flat_hash_map<Hash128, int> visits_;   // that the corpus has
  absl::flat_hash_map<Hash128, bool> queued_;  // by this run
  std::vector<KernelJob> waiting_;
  size_t waiting_times_ = 0;
  SpellWatch watch_;
  gnn::KernelExample record_;  // what all records share
  std::string place_;
  int faults_ = 0;  // of the environment, one after the other
  ProfileReport report_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::StatusOr<ProfileReport> ProfileAgain(const std::string& corpus, const AgainOptions& again,
                                           const targets::Target& target, const ProfileOptions& options) {
  if (!(again.share > 0 && again.share <= 1))
    return absl::InvalidArgumentError(absl::StrCat("a share of ", again.share, " is not in (0, 1]"));
  if (again.changed && !target.HasTiles()) {
    return absl::InvalidArgumentError(absl::StrCat("schedules of kernels of --target=", target.id().kind,
                                                   " are not known, so that none is known to have changed"));
  }
  return Profiler(target, options).RunAgain(corpus, again);
}

absl::StatusOr<ProfileReport> Profile(const std::vector<std::string>& modules, const targets::Target& target,
                                      const ProfileOptions& options) {
  if (!target.HasTiles() && options.task == ProfileTask::kTile) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernels of --target=", target.id().kind, " have no tiles: it profiles --task=fusion"));
  }
  return Profiler(target, options).Run(modules);
}

}  // namespace smelt::tuner

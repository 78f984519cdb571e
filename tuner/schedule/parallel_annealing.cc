#include "tuner/schedule/parallel_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "tuner/schedule/side_by_side.h"

namespace smelt::tuner {
namespace {

// Lies in (0, 1], and follows from the generator alone: distributions of the standard library differ between versions.
double Uniform(std::mt19937_64& random) { return (static_cast<double>(random() >> 11) + 1) * 0x1p-53; }

double Deviation(absl::Span<const double> scores) {
  double sum = 0, squares = 0, count = 0;
  for (const double score : scores) {
    if (!std::isfinite(score)) continue;
    sum += score;
    squares += score * score;
    ++count;
  }
  if (count < 2) return 1;
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  return deviation > 0 ? deviation : 1;
}

bool IsBetter(const RankedConfig& a, const RankedConfig& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.config.values() < b.config.values();
}

}  // namespace

// Some chains, with the points that they met and the scores of these.
struct ParallelAnnealing::Batch {
  absl::Span<Config> chains;
  absl::Span<std::mt19937_64> random;
  std::vector<double> scores;
  absl::flat_hash_map<std::vector<int>, RankedConfig> met;
  int64_t proposals = 0;
  absl::Status status;
};

ParallelAnnealing::ParallelAnnealing(const kernels::config::ConfigSpace& space, const ParallelAnnealingOptions& options)
    : space_(space), options_(options) {
  for (int chain = 0; chain < options.chains; ++chain) {
    std::seed_seq seed{static_cast<uint32_t>(options.seed), static_cast<uint32_t>(options.seed >> 32),
                       static_cast<uint32_t>(chain)};
    random_.emplace_back(seed);
    chains_.push_back(space.Random(random_.back()));
  }
}

void ParallelAnnealing::Restart(absl::Span<const Config> points) {
  for (size_t i = 0; i < std::min(points.size(), chains_.size()); ++i) chains_[i] = points[i];
}

absl::StatusOr<std::vector<RankedConfig>> ParallelAnnealing::Run(const Energy& energy, const ConfigSet& measured) {
  std::vector<Batch> batches;
  std::vector<double> first;
  for (size_t begin = 0; begin < chains_.size(); begin += static_cast<size_t>(options_.batch)) {
    const size_t size = std::min(static_cast<size_t>(options_.batch), chains_.size() - begin);
    Batch& batch = batches.emplace_back();
    batch.chains = absl::MakeSpan(chains_).subspan(begin, size);
    batch.random = absl::MakeSpan(random_).subspan(begin, size);
    SMELT_ASSIGN_OR_RETURN(batch.scores, energy(batch.chains));
    first.insert(first.end(), batch.scores.begin(), batch.scores.end());
  }
  const double unit = Deviation(first);
  SideBySide(static_cast<int64_t>(batches.size()), options_.threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      Batch& batch = batches[static_cast<size_t>(i)];
      batch.status = RunBatch(batch, energy, unit);
    }
  });
  absl::flat_hash_set<std::vector<int>> seen;
  std::vector<RankedConfig> ranked;
  for (Batch& batch : batches) {
    SMELT_RETURN_IF_ERROR(batch.status);
    proposals_ += batch.proposals;
    for (auto& [values, one] : batch.met) {
      if (std::isfinite(one.score) && !measured.contains(values) && seen.insert(values).second)
        ranked.push_back(std::move(one));
    }
  }
  const size_t kept = std::min(options_.keep, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end(), IsBetter);
  ranked.resize(kept);
  return ranked;
}

absl::Status ParallelAnnealing::RunBatch(Batch& batch, const Energy& energy, double unit) const {
  const size_t count = batch.chains.size();
  double best = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {
    batch.met[batch.chains[i].values()] = {batch.chains[i], batch.scores[i]};
    best = std::max(best, batch.scores[i]);
  }
  std::vector<Config> proposed(count);
  int idle = 0;
  bool cooled = false;
  for (int step = 0; step < options_.steps; ++step) {
    if (idle >= options_.patience) {
      if (cooled) break;
      cooled = true;
      idle = 0;
    }
    const double done = cooled ? 1 : static_cast<double>(step) / options_.steps;
    const double temperature = unit * (options_.hot + (options_.cold - options_.hot) * done);
    for (size_t i = 0; i < count; ++i) proposed[i] = space_.Mutate(batch.chains[i], batch.random[i]);
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> scores, energy(proposed));
    batch.proposals += static_cast<int64_t>(count);
    ++idle;
    for (size_t i = 0; i < count; ++i) {
      const double gain = scores[i] - batch.scores[i];
      const double chance = Uniform(batch.random[i]);  // drawn in any case, so that chains stay apart
      batch.met.try_emplace(proposed[i].values(), RankedConfig{proposed[i], scores[i]});
      if (scores[i] > best) {
        best = scores[i];
        idle = 0;
      }
      const bool from_nowhere = !std::isfinite(batch.scores[i]);
      const bool accepted = from_nowhere || gain >= 0 || (temperature > 0 && chance < std::exp(gain / temperature));
      if (!accepted) continue;
      batch.chains[i] = proposed[i];
      batch.scores[i] = scores[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace smelt::tuner

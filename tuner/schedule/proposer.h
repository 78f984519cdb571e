// Which configurations of a kernel to measure next.
//
//   std::unique_ptr<Proposer> proposer = RandomProposer(task, /*seed=*/1);
//   std::vector<Config> next = proposer->Next(16, /*measured=*/{}).value();
//   proposer->Learn(measured).ok();
//
// A batch holds no point twice, none that was measured and none that is not worth a trial: what has no schedule, above
// all. One seed and the same measurements give the same batches. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tuner/schedule/cost_model.h"
#include "tuner/schedule/diverse_selection.h"
#include "tuner/schedule/parallel_annealing.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

// Whether a point is worth a trial; what it answers with yes is in the batch.
using Accept = std::function<bool(const Config&)>;

class Proposer {
 public:
  explicit Proposer(const ScheduleTask& task) : task_(task) {}
  virtual ~Proposer() = default;
  // At most `count`; fewer where the space has no more, or none were found. `accept`, where given, must refuse what has
  // no schedule.
  absl::StatusOr<std::vector<Config>> Next(size_t count, const ConfigSet& measured, const Accept& accept = nullptr) {
    if (accept) return Propose(count, measured, accept);
    return Propose(count, measured, [this](const Config& config) { return task_.space.ScheduleFor(config).ok(); });
  }
  // All that was measured so far.
  virtual absl::Status Learn(absl::Span<const Measured> measured) = 0;
  virtual std::string Describe() const = 0;

 protected:
  virtual absl::StatusOr<std::vector<Config>> Propose(size_t count, const ConfigSet& measured,
                                                      const Accept& accept) = 0;
  const ScheduleTask& task_;
};

// Evenly drawn points.
std::unique_ptr<Proposer> RandomProposer(const ScheduleTask& task, uint64_t seed);

// Points at even distances in the space's own order, as many as `trials`; what cannot be made is left out.
std::unique_ptr<Proposer> GridProposer(const ScheduleTask& task, int64_t trials);

struct GeneticOptions {
  size_t population = 64;  // the latest measurements, whose knobs are mixed
  size_t elites = 3;       // the best of all stay among them
  double mutation = 0.1;   // chance of each child for one knob redrawn
  uint64_t seed = 1;
};
std::unique_ptr<Proposer> GeneticProposer(const ScheduleTask& task, const GeneticOptions& options);

// Algorithm 1 of Learning to Optimize Tensor Programs (NeurIPS 2018).
struct ModelProposerOptions {
  ParallelAnnealingOptions annealing;
  SelectionOptions selection;
  double epsilon = 0.05;    // share of a batch that is drawn at random
  double start_near = 0.5;  // share of the first batch, before anything is known, that is near the default
  double changed = 0.25;    // share of every batch that changes one decision of the best that was measured
  double restarted = 0.5;   // share of the chains that go on from the best that were measured
  Acquisition acquisition = Acquisition::kMean;
  size_t rescored = 400;   // candidates of the annealing that a dear model looks at itself
  size_t imitated = 1400;  // candidates that its imitation is learned from, at most
  int threads = 1;
  uint64_t seed = 1;
};
// `model` and `features` must outlive it. 64,000 candidates of each round are too many for a model that asks for the
// loop program of each: the annealing then follows an imitation of it, boosted trees on the knobs' values that learn
// the model's own scores of the candidates that it has seen, and the model looks at the best that come out.
std::unique_ptr<Proposer> ModelProposer(const ScheduleTask& task, CandidateFeatures& features, CostModel& model,
                                        const ModelProposerOptions& options);

// Points that differ from one in one knob and nothing else: choices first, then splits of which one loop has twice as
// much and another one half, then annotations and orders. What a choice between a few ways is worth is found so in as
// many trials, whatever a model believes of it.
void AddChanges(const ScheduleTask& task, const Config& of, size_t count, const Accept& accept, ConfigSet& taken,
                std::vector<Config>& batch);

// Draws points that differ from one in one to three knobs, as AddRandom does.
void AddNeighbours(const ScheduleTask& task, const Config& of, size_t count, std::mt19937_64& random,
                   const Accept& accept, ConfigSet& taken, std::vector<Config>& batch);

// Draws points that are accepted and not in `taken`, and adds them to both.
void AddRandom(const ScheduleTask& task, size_t count, std::mt19937_64& random, const Accept& accept, ConfigSet& taken,
               std::vector<Config>& batch);

}  // namespace smelt::tuner

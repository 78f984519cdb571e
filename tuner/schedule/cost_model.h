// What a schedule search believes of candidates that were not measured.
//
//   std::unique_ptr<CostModel> model = BoostedCostModel(features, {.objective = Objective::kRank});
//   model->Fit(measured).ok();
//   std::vector<Scored> scores = model->Score(candidates).value();   // a higher score is a faster schedule
//
// Learning to Optimize Tensor Programs (Chen et al., NeurIPS 2018), Section 3.1. A failure is a score of 0 to learn
// from: what cannot be built or run is known as such. Not thread-safe unless it says so.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gnn/boost/boosted_trees.h"
#include "tuner/schedule/candidate_features.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

// A candidate that was measured.
struct Measured {
  Config config;
  double score = 0;  // 1 for the fastest of the kernel so far, its seconds over this one's for others, 0 for a failure
};

struct Scored {
  double score = 0;      // minus infinity: the space has no schedule there
  double deviation = 0;  // of the members of an ensemble; 0 without one
};

enum class Objective : uint8_t {
  kRank,        // the order of candidates: their scores mean nothing else
  kRegression,  // the score itself
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  // Learns from all of these and forgets what it learned before.
  virtual absl::Status Fit(absl::Span<const Measured> measured) = 0;
  // FailedPrecondition before the first Fit, unless it knows something beforehand (see CanScore).
  virtual absl::StatusOr<std::vector<Scored>> Score(absl::Span<const Config> candidates) = 0;
  virtual bool CanScore() const = 0;
  // Whether Score may be asked by several threads, for a hundred thousand candidates a second.
  virtual bool IsCheap() const { return false; }
  virtual std::string Describe() const = 0;
};

// What an ensemble's opinion is worth (Section 5.2 of the paper, Figure 7).
enum class Acquisition : uint8_t {
  kMean,
  kUpperBound,           // mean + deviation
  kExpectedImprovement,  // over the best mean of what was measured
};
double Acquire(const Scored& scored, Acquisition acquisition, double best);

// Knowledge from other kernels, added to what a model learns of this one: Equation 4. One number a candidate.
using Prior = std::function<absl::StatusOr<std::vector<float>>(absl::Span<const Config>)>;

struct BoostedModelOptions {
  Representation representation = Representation::kContextRelation;
  Objective objective = Objective::kRank;
  int members = 1;  // of the ensemble, each trained on rows drawn with replacement
  int threads = 1;
  gnn::BoostOptions trees = {};  // its objective and seed are replaced
  Prior prior = nullptr;
  uint64_t seed = 1;
};

// Gradient boosted trees. `features` must outlive it.
std::unique_ptr<CostModel> BoostedCostModel(CandidateFeatures& features, BoostedModelOptions options);

}  // namespace smelt::tuner

// What a search takes a kernel to cost: what it was measured to take inside a program where it was, else what the model
// predicts.
//
//   KernelCosts costs(predictor);
//   costs.Predict(kernels);                  // what is not known yet, in one batch
//   costs.Find(hash).value()                 // seconds of one execution
//   costs.AddMeasured(hash, 1.3e-5);
//
// Measured kernels show how far the model is off on this program as a whole; predictions of the others are scaled by
// the median of that, so that kernels that were never tried are neither favoured nor avoided because of a common error.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "fusion/incremental_fusion.h"
#include "fusion/kernel.h"
#include "gnn/predictor.h"

namespace smelt::tuner {

// A kernel of a program with the number of times that it runs in one run of the program.
struct WeightedKernel {
  Hash128 hash;
  double executions = 1;
};

// Find and Predict may be called from several threads, AddMeasured only while no other function runs.
class KernelCosts {
 public:
  explicit KernelCosts(gnn::Predictor& predictor) : predictor_(predictor) {}

  // Seconds of one execution, where it was measured or predicted before.
  std::optional<double> Find(const Hash128& hash) const;
  // Predicts kernels in one batch.
  absl::Status Predict(absl::Span<const fusion::Kernel* const> kernels);
  // The seconds are those of one execution; of several measurements the least counts.
  void AddMeasured(const Hash128& hash, double seconds);

  // Adds up all kernels, each of which must be known to Find. `unmeasured`, where given, receives how many of them rest
  // on a prediction.
  double Sum(absl::Span<const WeightedKernel> kernels, int64_t* unmeasured = nullptr) const;

  // What is added to a kernel's seconds, measured or predicted: what a kernel costs inside a program beyond what it
  // takes alone. Must be safe to call from several threads; only while no other function runs.
  void SetExtra(std::function<double(const Hash128&)> extra) { extra_ = std::move(extra); }

  double scale() const { return scale_; }
  const gnn::Predictor& predictor() const { return predictor_; }

 private:
  gnn::Predictor& predictor_;
  absl::flat_hash_map<Hash128, double> measured_;
  double scale_ = 1;  // of predictions
  std::function<double(const Hash128&)> extra_;
};

}  // namespace smelt::tuner

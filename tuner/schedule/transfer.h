// What measurements of other kernels say of a kernel's schedules: the global part of Equation 4 in Learning to Optimize
// Tensor Programs (NeurIPS 2018), Section 4.
//
//   auto transfer = TransferModel::Learn("run", kernel, target, /*seed=*/1).value();
//   CandidateFeatures features(task, /*threads=*/2);
//   Prior prior = transfer->For(features);   // a model of this kernel learns what is left
//
// Boosted trees on features that mean the same for every kernel learn the order of schedules within each of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "gnn/boost/boosted_trees.h"
#include "targets/target.h"
#include "tuner/schedule/candidate_features.h"
#include "tuner/schedule/cost_model.h"

namespace smelt::tuner {

class TransferModel {
 public:
  // From the records of a folder that TuneSchedule keeps, of the same target on the same device, whatever compiler
  // version; `kernel`'s own do not count. Errors: the records cannot be read. Nothing usable is no error: For gives
  // null.
  static absl::StatusOr<std::unique_ptr<TransferModel>> Learn(const std::string& folder, const fusion::Kernel& kernel,
                                                              const targets::Target& target, uint64_t seed);

  // Null where nothing was learned. This and `features` must outlive it.
  Prior For(CandidateFeatures& features) const;

  int64_t measurements() const { return measurements_; }  // that it learned from
  int64_t kernels() const { return kernels_; }

 private:
  std::optional<gnn::BoostedTrees> trees_;
  int64_t measurements_ = 0, kernels_ = 0;
};

}  // namespace smelt::tuner

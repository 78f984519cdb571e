// What `train` and `eval` must agree on: the programs that are held out, and whose machine features are made for.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "machine/machine.h"
#include "targets/target.h"

namespace smelt::cli {

// Equal flags give equal splits.
absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file);

// A processor, or another target whose own estimates of kernels are among the features.
struct FeatureTarget {
  machine::Machine machine;
  std::string name;                               // as TargetId prints it
  gnn::KernelEstimate estimate;                   // unset: the analytical model
  std::shared_ptr<const targets::Target> target;  // which the estimate asks; null: a processor
};
// `words`: cpu, cpu:threads=N or cpu:CPU,threads=N; or the name of a target. A usage error: neither.
absl::StatusOr<FeatureTarget> ReadFeatureTarget(const std::string& words);

}  // namespace smelt::cli

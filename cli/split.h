// What `train` and `eval` must agree on: the programs that are held out, and whose machine features are made for.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "machine/machine.h"
#include "machine/target_id.h"

namespace smelt::cli {

// Equal flags give equal splits.
absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file);

// What --target says of a corpus whose records do not tell it themselves.
struct FeatureTarget {
  machine::TargetId asked;  // as the user named it: a file of a machine, say
  machine::TargetId id;     // as records name it
  machine::Machine machine;

  // LoadOptions::estimate_of. A usage error: --target is no processor, and the records tell another target.
  absl::StatusOr<gnn::KernelEstimate> EstimateOf(const machine::TargetId& told) const;
};
inline constexpr const char* kFeatureTargetHelp =
    "Processor that the corpus was measured on, or other target, where its records do not tell";
// `words`: cpu, cpu:threads=N or cpu:CPU,threads=N; or the name of a target. A usage error: neither.
absl::StatusOr<FeatureTarget> ReadFeatureTarget(const std::string& words);

}  // namespace smelt::cli

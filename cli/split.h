// The programs that are held out of training.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"

namespace smelt::cli {

// The split that `train` and `eval` must agree on: equal flags give equal splits.
absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file);

}  // namespace smelt::cli

// Ctrl-C as a question instead of an end; and the words that training and evaluation share.
#pragma once

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"

namespace smelt::cli {

// While one lives, the first SIGINT or SIGTERM only sets a flag; a second ends the process as usual.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  bool Requested() const;
  const std::atomic<bool>* flag() const;
};

// The split that `train` and `eval` must agree on: equal flags give equal splits.
absl::StatusOr<gnn::SplitOptions> ReadSplit(double validation, double test, uint64_t seed,
                                            const std::string& test_programs_file);

}  // namespace smelt::cli

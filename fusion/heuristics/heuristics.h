// Starting points of the search: configurations by name.
//
//   Config start = Heuristic("priority", space).value();
//
// | name          | rule                                                                                  |
// |---------------|---------------------------------------------------------------------------------------|
// | none          | every instruction its own kernel                                                      |
// | tvm           | the greedy rule by category of the TVM paper (Chen et al., OSDI 2018, Section 3)      |
// | xla-cpu       | XLA's instruction fusion for CPUs, with its limits                                    |
// | priority      | greedy by modelled benefit, as XLA's priority fusion for GPUs; the default everywhere |
// | random[:SEED] | each bit with a probability                                                           |
//
// A module that comes fused is a configuration, too: see fusion/unfuse.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "hlo/computation.h"

namespace smelt::fusion {

struct HeuristicOptions {
  // priority: seconds of one run of a kernel, launch included. Called once for each distinct kernel. Where it is empty,
  // a rough built-in cost of the space's target is used, which is fast enough for modules of any size.
  std::function<double(const hlo::Computation& kernel)> kernel_seconds;
  double probability = 0.5;  // random
  uint64_t seed = 0;         // random, unless the name gives one
};

// A legal configuration. Errors: an unknown name, or a seed that is no number.
absl::StatusOr<Config> Heuristic(std::string_view name, const Space& space, const HeuristicOptions& options = {});
std::vector<std::string> HeuristicNames();

// The heuristics one by one. Their results are legal.
Config NoFusion(const Space& space);
Config TvmFusion(const Space& space);
Config XlaCpuFusion(const Space& space);
Config PriorityFusion(const Space& space, const HeuristicOptions& options = {});
Config RandomFusion(const Space& space, double probability, uint64_t seed);

}  // namespace smelt::fusion

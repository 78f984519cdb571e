// Kernels of a program for a corpus: a fair sample over many of its configurations.
//
//   KernelSample sample = SampleKernels(space, cost, {.kernels = 220}, wanted);
//   for (SampledKernel& found : sample.kernels) Time(found.kernel);
//
// A search meets kernels of every configuration that it tries, so that a sample which takes the first ones it finds
// would hold the default's and little else. Reservoirs (Vitter's algorithm R) keep each distinct kernel with equal
// chance: a quarter for the heuristics' kernels, the rest half for those of random configurations and half for those of
// walks around the default, where searches spend their time. Deterministic under its seed, whatever is known already.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fusion/heuristics/heuristics.h"
#include "fusion/kernel.h"
#include "fusion/space.h"

namespace smelt::tuner {

struct SampleOptions {
  int64_t kernels = 1000;       // at most so many
  int64_t configurations = 50;  // random ones and walks, beside the heuristics
  bool default_only = false;    // the kernels of `priority` alone
  double seconds = 60;          // no further configuration after so long
  uint64_t seed = 1;
  const std::atomic<bool>* cancel = nullptr;  // true: no further configuration
};

struct SampledKernel {
  fusion::Kernel kernel;
  std::string provenance;  // heuristic:NAME, random or walk
};

struct KernelSample {
  std::vector<SampledKernel> kernels;  // heuristics' first
  int64_t distinct = 0;                // kernels of all configurations
};

// `wanted`: whether the kernel may be in the sample; asked once of each that is drawn.
KernelSample SampleKernels(const fusion::Space& space, const fusion::HeuristicOptions& cost,
                           const SampleOptions& options, const std::function<bool(const fusion::Kernel&)>& wanted);

}  // namespace smelt::tuner

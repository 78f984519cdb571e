// Makes computations of the bodies of kernels. `Apply` puts them into fusions, searches hand them to models.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "fusion/graph.h"
#include "fusion/kernel.h"
#include "fusion/partition.h"
#include "hlo/passes/reuse_distance.h"

namespace smelt::fusion {

// Adds a computation with the body's instructions, parameters in order of first use, and a tuple as root where there
// are several outputs. `callee` maps computations that instructions call into the module.
hlo::Computation* AddKernelComputation(const Graph& graph, const KernelBody& body, std::string_view name,
                                       const std::function<hlo::Computation*(const hlo::Computation&)>& callee,
                                       hlo::Module* module);

// The body as a kernel of its own. It was not cut out of a module, so `operands` stays empty, and so do its distances.
Kernel BuildKernel(const Graph& graph, const KernelBody& body, const Hash128& hash);

// Kernel::distances of the body, in the module of the graph.
std::vector<int64_t> DistancesOf(const Graph& graph, const KernelBody& body, const hlo::ReuseDistances& distances);

}  // namespace smelt::fusion

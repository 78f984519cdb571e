// Whether a convolution is better computed by Winograd's algorithm, by estimates alone.
//
//   std::optional<nests::Tile> way = DefaultAlgorithm(kernel.computation(), /*weights_known=*/true, machine);
//   way->ToString()   // "winograd4:1x2x14x64"; none: directly
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/cost/analytical.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {

// The kernel by the algorithm of the tile, which is not the direct one: what EstimateTile gives of it.
absl::StatusOr<CostEstimate> EstimateAlgorithm(const hlo::Computation& kernel, const nests::Tile& tile,
                                               const machine::Machine& target);

// The fastest of the kernel's other algorithms with its piece of work, where it is expected to take at most
// kWinogradGain of what the direct sum does. Nothing where the direct sum is as good, or is all that there is.
// `weights_known`: they are transformed beforehand, and not in every call.
std::optional<nests::Tile> DefaultAlgorithm(const hlo::Computation& kernel, bool weights_known,
                                            const machine::Machine& target);

// What DefaultAlgorithm's choice makes of the kernel's one convolution where its weights are arguments, with what
// transforming these takes; nothing where it is computed directly. Remembered by layer and machine: choosing takes a
// millisecond, and the same layer stands in many candidates of a fusion.
std::optional<CostEstimate> ConvolutionByDefault(const hlo::Computation& kernel, const machine::Machine& target);

// The estimates' error, and the error of the results, are worth so much.
inline constexpr double kWinogradGain = 0.8;

}  // namespace smelt::kernels::cost

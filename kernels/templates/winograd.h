// The schedule of convolutions by minimal filtering (te/hlo/winograd.h), and what it is expected to take.
//
//   WinogradEstimate estimate = EstimateWinograd(*nest.winograd, {1, 2, 14, 64}, machine);
//   double seconds = estimate.seconds();
//
// A piece of work is a block of tiles and of output features: its input is transformed, multiplied by the weights of so
// many features at a time as registers hold, and each such product transformed back, all within the core's own cache.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "kernels/nests/structure.h"
#include "kernels/schedule/schedule.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Times of the slowest worker, in seconds.
struct WinogradEstimate {
  double product_seconds = 0;    // the products, at the target's peak
  double transform_seconds = 0;  // of the input, once for each piece of work, and of the output
  double weights_seconds = 0;    // their transformed form is read once for each block of tiles
  double input_seconds = 0;      // it is written once and read once for each register tile of features
  double launch_seconds = 0;
  double scratch_bytes = 0;  // of one worker
  // Weights are read from one end to the other, which overlaps with the products.
  double seconds() const;
};

// `tile`: images, tile rows, tile columns and output features of a piece of work, each within WinogradStages::extents.
WinogradEstimate EstimateWinograd(const WinogradStages& stages, const std::vector<int64_t>& tile,
                                  const machine::Machine& target);

// Seconds of transforming the weights, where that is done in every call.
double TransformOfWeightsSeconds(const WinogradStages& stages, const machine::Machine& target);

// Pieces of work in the order of their estimates; at least one.
std::vector<std::vector<int64_t>> WinogradTiles(const WinogradStages& stages, const machine::Machine& target);

// The register tile of the products of one piece of work, in as many registers as the target has; axes are those of the
// product. Rows may come from two axes, which are both split.
RegisterTile WinogradRegisters(const std::vector<int64_t>& tile, const machine::Machine& target);

absl::Status ScheduleWinograd(schedule::Schedule& schedule, const NestInput& input);

}  // namespace smelt::kernels::nests

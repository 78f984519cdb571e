// Which pieces of work suit a convolution by minimal filtering.
#include <algorithm>
#include <cmath>

#include "kernels/templates/winograd.h"

namespace smelt::kernels::nests {
namespace {

// Share of the peak that products in registers reach.
constexpr double kProductShare = 0.95;
// Flops of a transform at the peak's pace for each element that it reads or writes.
constexpr double kTransformFlops = 10;
// Pieces of work considered for each axis.
constexpr size_t kMostChoices = 12;

int64_t Pieces(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

// Equal parts of the extent, largest first: at most kMostChoices.
std::vector<int64_t> Parts(int64_t extent, int64_t multiple) {
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= extent && parts.size() < kMostChoices; ++count) {
    const int64_t units = Pieces(extent, multiple);
    const int64_t part = std::min(extent, Pieces(units, count) * multiple);
    if (parts.empty() || part < parts.back()) parts.push_back(part);
    if (part <= multiple) break;
  }
  return parts;
}

}  // namespace

double WinogradEstimate::seconds() const {
  // The longer of both counts, and a little of the other where they are near.
  const double products = std::cbrt(std::pow(product_seconds, 3) + std::pow(weights_seconds, 3));
  return products + transform_seconds + input_seconds + launch_seconds;
}

WinogradEstimate EstimateWinograd(const WinogradStages& stages, const std::vector<int64_t>& tile,
                                  const machine::Machine& target) {
  const double points = std::pow(static_cast<double>(stages.output_tile() + 2), 2);
  const double features = static_cast<double>(stages.input->shape[5]);
  const double outputs = static_cast<double>(tile[3]);
  const double tiles = static_cast<double>(tile[0] * tile[1] * tile[2]);
  double pieces = 1;
  for (size_t i = 0; i < tile.size(); ++i) pieces *= static_cast<double>(Pieces(stages.extents[i], tile[i]));
  // Of the worker that has most.
  const double rounds = std::ceil(pieces / target.threads);

  WinogradEstimate estimate;
  const RegisterTile registers = WinogradRegisters(stages, tile, target);
  const double accumulators = static_cast<double>(registers.rows * registers.vectors * registers.planes);
  // A product that fills few registers waits for its own results.
  const double filled = std::min(1.0, accumulators / 8);
  estimate.product_seconds =
      rounds * 2 * points * tiles * features * outputs / (target.peak_flops_f32 * kProductShare * filled);
  estimate.transform_seconds = rounds * points * tiles * (features + outputs) * kTransformFlops / target.peak_flops_f32;
  const double all_weights = 4 * points * features * static_cast<double>(stages.extents[3]);
  estimate.weights_seconds = rounds * 4 * points * features * outputs / target.BandwidthOf(all_weights);
  estimate.launch_seconds = pieces > 1 && target.threads > 1 ? target.fork_seconds : target.launch_seconds;
  const double m = static_cast<double>(stages.output_tile());
  const double border = static_cast<double>(tile[0]) * (static_cast<double>(tile[1]) * m + 2) *
                        (static_cast<double>(tile[2]) * m + 2) * features;
  const double width = std::min(outputs, static_cast<double>(registers.width()));
  // The border is read before the first product is written.
  estimate.scratch_bytes = 4 * (points * tiles * features + std::max(border, points * tiles * width));
  // Half of a level is left to the weights that pass by, and to whoever else uses it. What is written is fetched before
  // and goes back later.
  const double passes = 3 + std::ceil(outputs / width);
  estimate.input_seconds =
      rounds * 4 * points * tiles * features * passes / target.BandwidthOf(2 * estimate.scratch_bytes);
  return estimate;
}

std::vector<std::vector<int64_t>> WinogradTiles(const WinogradStages& stages, const machine::Machine& target) {
  const std::vector<int64_t>& extents = stages.extents;
  struct Choice {
    std::vector<int64_t> tile;
    double seconds;
  };
  std::vector<Choice> choices;
  const int64_t lanes = std::max<int64_t>(1, target.vector_bytes / 4);
  const auto consider = [&](std::vector<int64_t> tile) {
    const double seconds = EstimateWinograd(stages, tile, target).seconds();
    choices.push_back({std::move(tile), seconds});
  };
  for (const int64_t outputs : Parts(extents[3], 2 * lanes)) {
    for (const int64_t columns : Parts(extents[2], 1)) {
      for (const int64_t rows : Parts(extents[1], 1)) {
        // Whole images only go together.
        const bool whole = columns == extents[2] && rows == extents[1];
        for (const int64_t images : whole ? Parts(extents[0], 1) : std::vector<int64_t>{1}) {
          if (rows > 1 && columns < extents[2]) continue;  // long rows first
          consider({images, rows, columns, outputs});
        }
      }
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  std::vector<std::vector<int64_t>> tiles;
  for (Choice& choice : choices) tiles.push_back(std::move(choice.tile));
  return tiles;
}

}  // namespace smelt::kernels::nests

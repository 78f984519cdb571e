// Which pieces of work suit a convolution by minimal filtering.
#include <algorithm>
#include <cmath>

#include "base/ceil_div.h"
#include "kernels/templates/winograd.h"

namespace smelt::kernels::nests {
namespace {

// Share of the peak that products reach where nothing but the multiply-adds counts.
constexpr double kProductShare = 0.95;
// What a core does in a cycle at most: multiply-adds of vectors, loads, and bytes of the weights from the second cache.
constexpr double kMultiplyAdds = 2, kLoads = 2, kWeightBytes = 32;
// Cycles until a sum can be added to again, with a little for the loop.
constexpr double kLatency = 4.5;
// A loop with a tail has its code twice, and runs the tail alone.
constexpr double kTail = 1.03;
// Flops of a transform at the peak's pace for each element that it reads or writes.
constexpr double kTransformFlops = 10;
// Steps of a sum that starting it from zero and storing it take.
constexpr double kStartSteps = 4;
// Pieces of work considered for each axis.
constexpr size_t kMostChoices = 12;

// Equal parts of the extent, largest first: at most kMostChoices.
std::vector<int64_t> Parts(int64_t extent, int64_t multiple) {
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= extent && parts.size() < kMostChoices; ++count) {
    const int64_t units = CeilDiv(extent, multiple);
    const int64_t part = std::min(extent, CeilDiv(units, count) * multiple);
    if (parts.empty() || part < parts.back()) parts.push_back(part);
    if (part <= multiple) break;
  }
  return parts;
}

// Work of so many in equal parts, over the work that is needed.
double Waste(int64_t extent, int64_t part) {
  const double all = static_cast<double>(CeilDiv(extent, part) * part) / static_cast<double>(extent);
  return extent % part == 0 ? 1 : all * kTail;
}

// Cycles of a step of the sum, for each multiply-add of vectors: at best 1 / kMultiplyAdds.
double CyclesOf(const RegisterTile& registers, const machine::Machine& target) {
  const double rows = static_cast<double>(registers.rows * registers.planes);
  const double vectors = static_cast<double>(registers.vectors);
  const double weights = vectors * static_cast<double>(target.vector_bytes) / kWeightBytes;
  const double cycles = std::max({rows * vectors / kMultiplyAdds, (rows + vectors) / kLoads, weights, kLatency});
  // Narrow tiles read fewer weights at a time, more of which then stay near.
  constexpr double kWidth = 0.1;
  return (cycles + kWidth * vectors) / (rows * vectors);
}

struct Registers {
  RegisterTile tile;
  double cycles = 0;  // for each multiply-add that is needed
};

// Rows are tiles, along the columns and then along the rows of tiles, or images.
Registers ChooseRegisters(const std::vector<int64_t>& tile, const machine::Machine& target) {
  Registers best;
  RegisterTile& registers = best.tile;
  registers.vector_axis = 5;
  registers.lanes = std::max<int64_t>(1, target.vector_bytes / 4);
  std::vector<int> axes;
  for (int axis : {2, 1, 0}) {
    if (tile[axis] > 1 && axes.size() < 2) axes.push_back(axis);
  }
  if (!axes.empty()) registers.row_axis = axes[0];
  if (axes.size() > 1) registers.plane_axis = axes[1];
  const int64_t most = target.vector_registers * 3 / 4;
  const int64_t row_extent = axes.empty() ? 1 : tile[axes[0]];
  const int64_t plane_extent = axes.size() > 1 ? tile[axes[1]] : 1;
  const int64_t vector_extent = CeilDiv(tile[3], registers.lanes);
  RegisterTile candidate = registers;
  for (candidate.rows = 1; candidate.rows <= std::min(row_extent, most); ++candidate.rows) {
    for (candidate.planes = 1; candidate.planes <= std::min(plane_extent, most / candidate.rows); ++candidate.planes) {
      const int64_t rows = candidate.rows * candidate.planes;
      for (candidate.vectors = 1; candidate.vectors <= std::min(vector_extent, most / rows); ++candidate.vectors) {
        const double cycles = CyclesOf(candidate, target) * Waste(row_extent, candidate.rows) *
                              Waste(plane_extent, candidate.planes) * Waste(vector_extent, candidate.vectors);
        if (best.cycles == 0 || cycles < best.cycles) best = {candidate, cycles};
      }
    }
  }
  return best;
}

}  // namespace

RegisterTile WinogradRegisters(const std::vector<int64_t>& tile, const machine::Machine& target) {
  return ChooseRegisters(tile, target).tile;
}

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
  for (size_t i = 0; i < tile.size(); ++i) pieces *= static_cast<double>(CeilDiv(stages.extents[i], tile[i]));
  // The worker that has most decides.
  const double rounds = std::ceil(pieces / target.threads);

  WinogradEstimate estimate;
  const Registers registers = ChooseRegisters(tile, target);
  const double share = kProductShare / (kMultiplyAdds * registers.cycles);
  estimate.product_seconds =
      rounds * 2 * points * tiles * (features + kStartSteps) * outputs / (target.peak_flops_f32 * share);
  // Transforms work on whole vectors.
  const int64_t lanes = registers.tile.lanes;
  const double transformed =
      static_cast<double>((CeilDiv(stages.input->shape[5], lanes) + CeilDiv(tile[3], lanes)) * lanes);
  estimate.transform_seconds = rounds * points * tiles * transformed * kTransformFlops / target.peak_flops_f32;
  const double all_weights = 4 * points * features * static_cast<double>(stages.extents[3]);
  estimate.weights_seconds = rounds * 4 * points * features * outputs / target.BandwidthOf(all_weights);
  estimate.launch_seconds = pieces > 1 && target.threads > 1 ? target.fork_seconds : target.launch_seconds;
  const double m = static_cast<double>(stages.output_tile());
  const double border = static_cast<double>(tile[0]) * (static_cast<double>(tile[1]) * m + 2) *
                        (static_cast<double>(tile[2]) * m + 2) * features;
  const double width = std::min(outputs, static_cast<double>(registers.tile.width()));
  // The border is read before the first product is written.
  estimate.scratch_bytes = 4 * (points * tiles * features + std::max(border, points * tiles * width));
  // Half of a level is left to the weights that pass by, and to whoever else uses it. What is written is fetched before
  // and goes back later.
  const double passes = 3 + std::ceil(outputs / width);
  estimate.input_seconds =
      rounds * 4 * points * tiles * features * passes / target.BandwidthOf(2 * estimate.scratch_bytes);
  return estimate;
}

double TransformOfWeightsSeconds(const WinogradStages& stages, const machine::Machine& target) {
  const double points = std::pow(static_cast<double>(stages.output_tile() + 2), 2), taps = 9;
  const double weights = static_cast<double>(stages.input->shape[5] * stages.extents[3]);
  // What is written is fetched before and goes back later.
  const double moved = 4 * weights * (taps + 2 * points) / target.BandwidthOf(4 * weights * points);
  return (weights * points * kTransformFlops / target.peak_flops_f32 + moved) / target.threads;
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

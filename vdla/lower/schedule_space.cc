// The schedules of a convolution that fit a machine, and their time by a formula.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "base/ceil_div.h"
#include "vdla/lower/convolution.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using isa::Memory;
using Order = ConvolutionSchedule::Order;
using Axis = ConvolutionSchedule::Axis;

// Tiles that cut `whole` into 1, 2, 3, ... parts, each as small as that needs: larger ones only leave a smaller last
// part.
std::vector<int64_t> TilesOf(int64_t whole) {
  std::set<int64_t> tiles;
  for (int64_t parts = 1; parts <= whole; ++parts) tiles.insert(CeilDiv(whole, parts));
  return {tiles.begin(), tiles.end()};
}

// What a tile needs of the memories; as the builder declares it.
struct Footprint {
  int64_t in_rows, in_columns, input_blocks, input, weights, sums, constants;
};
Footprint FootprintOf(const Convolution& c, const ConvolutionSchedule& s) {
  Footprint f{};
  f.in_rows = c.kernel_height == 1 && c.stride_height > 1 ? s.rows : (s.rows - 1) * c.stride_height + c.kernel_height;
  f.in_columns = s.gather_columns ? s.columns : (s.columns - 1) * c.stride_width + c.kernel_width;
  f.input_blocks = c.by_channel() ? s.out_blocks : s.in_blocks;
  f.input = c.is_elementwise() ? 0 : f.input_blocks * f.in_rows * f.in_columns;
  f.weights = c.has_weights() ? s.out_blocks * s.in_blocks * c.kernel_height * c.kernel_width : 0;
  f.sums = s.out_blocks * s.rows * s.columns;
  bool tensor = false;
  for (const EpilogueStep& step : c.epilogue) {
    tensor |= step.operand == EpilogueOperand::kTensor;
    if (!step.tensor_scale.empty()) f.constants += c.out_blocks;
    if (step.operand == EpilogueOperand::kPerChannel) f.constants += c.out_blocks;
  }
  if (tensor) f.sums *= 2;
  return f;
}

bool Fits(const Convolution& c, const ConvolutionSchedule& s, const Config& config) {
  const Footprint f = FootprintOf(c, s);
  const int64_t inputs = c.has_weights() ? f.input : 0, accumulators = f.sums + f.input - inputs;
  return s.threads * inputs <= config.DepthOf(Memory::kInp) && s.threads * f.weights <= config.DepthOf(Memory::kWgt) &&
         s.threads * accumulators + f.constants <= config.DepthOf(Memory::kAcc);
}

}  // namespace

double EstimateCycles(const Convolution& c, const ConvolutionSchedule& s, const Config& config) {
  const Footprint f = FootprintOf(c, s);
  const auto& timing = config.timing;
  const double out_tiles = CeilDiv(c.out_blocks, s.out_blocks), in_tiles = CeilDiv(c.sum_blocks(), s.in_blocks);
  const double pixel_tiles =
      static_cast<double>(c.images) * CeilDiv(c.out_height(), s.rows) * CeilDiv(c.out_width(), s.columns);
  const double tiles = out_tiles * pixel_tiles;
  const double bus = timing.dram_bytes_per_cycle, latency = static_cast<double>(timing.dram_latency);
  const auto bytes = [&](Memory memory, int64_t elements) {
    return static_cast<double>(elements * config.DramElementBytes(memory)) / bus;
  };

  // One load of the input, of the weights, one store: bytes, rows, and the latency of each instruction.
  const double rows = static_cast<double>(f.input_blocks * f.in_rows * (s.gather_columns ? f.in_columns : 1));
  const double input = bytes(Memory::kInp, f.input_blocks * f.in_rows * f.in_columns) +
                       rows * static_cast<double>(timing.row_cycles) + static_cast<double>(f.input_blocks) * latency;
  const double weights = c.has_weights() ? bytes(Memory::kWgt, f.weights) + latency : 0;
  const double store = bytes(c.int8_output ? Memory::kAcc8 : Memory::kAcc, s.out_blocks * s.rows * s.columns) + latency;
  const bool once = in_tiles == 1;
  const double input_loads =
      once && !c.by_channel() && s.order == Order::kInputStationary
          ? pixel_tiles * (s.threads > 1 && s.axis == Axis::kChannels ? static_cast<double>(s.threads) : 1)
          : tiles * in_tiles;
  const double weight_loads = once && s.order == Order::kWeightStationary
                                  ? static_cast<double>(c.images) * out_tiles *
                                        (s.threads > 1 && s.axis == Axis::kRows ? static_cast<double>(s.threads) : 1)
                                  : tiles * in_tiles;

  double alu = 0;  // a tile
  if (!c.has_weights() && !c.is_elementwise()) {
    alu += static_cast<double>(c.kernel_height * c.kernel_width) *
           static_cast<double>(timing.alu_tensor_cycles * s.out_blocks * s.rows * s.columns + timing.alu_drain);
  }
  for (const EpilogueStep& step : c.epilogue) {
    const double cycles = static_cast<double>(step.operand == EpilogueOperand::kImmediate ? timing.alu_immediate_cycles
                                                                                          : timing.alu_tensor_cycles);
    alu += cycles * static_cast<double>(s.out_blocks * s.rows * s.columns) + static_cast<double>(timing.alu_drain);
    if (step.operand == EpilogueOperand::kTensor) alu += store;
  }
  // Tiles at the edges are smaller, and so is their work.
  const double whole = static_cast<double>(c.images * c.out_blocks * c.out_height() * c.out_width());
  const double full = whole / (tiles * static_cast<double>(s.out_blocks * s.rows * s.columns));
  const double work =
      static_cast<double>(c.micro_ops()) + tiles * (alu * full + in_tiles * static_cast<double>(timing.gemm_drain));
  const double loads = (input_loads * input + weight_loads * weights) * std::sqrt(full);
  const double stores = tiles * store * full;
  // The unit that computes loads the accumulators itself.
  if (!c.has_weights()) return work + loads + (s.threads > 1 ? store : stores);
  if (s.threads > 1) return std::max(work, loads + stores) + input + weights + store;
  // Alone, a load waits for the products before it, and only the epilogue and the store hide the first load of a tile.
  const double hidden = tiles * std::min(alu + store, input + weights);
  return work + loads + stores - std::min(hidden, loads);
}

std::vector<ConvolutionSchedule> ConvolutionSchedules(const Convolution& c, const Config& config, int64_t threads) {
  std::vector<std::pair<double, ConvolutionSchedule>> ranked;
  const bool can_gather = c.kernel_width == 1 && c.stride_width > 1;
  for (const int64_t out_blocks : TilesOf(c.out_blocks)) {
    for (const int64_t in_blocks : TilesOf(c.sum_blocks())) {
      for (const int64_t rows : TilesOf(c.out_height())) {
        for (const int64_t columns : TilesOf(c.out_width())) {
          for (const Order order : {Order::kInputStationary, Order::kWeightStationary}) {
            for (const Axis axis : {Axis::kRows, Axis::kChannels}) {
              for (const bool gather : {false, true}) {
                const ConvolutionSchedule schedule{.out_blocks = out_blocks,
                                                   .rows = rows,
                                                   .columns = columns,
                                                   .in_blocks = in_blocks,
                                                   .order = order,
                                                   .threads = threads,
                                                   .axis = axis,
                                                   .gather_columns = gather};
                if (gather && !can_gather) continue;
                if (!c.has_weights() && order != Order::kInputStationary) continue;  // there is nothing else to keep
                if (threads == 1 && axis != Axis::kRows) continue;
                const int64_t shared =
                    axis == Axis::kRows ? (c.out_height() + rows - 1) / rows : CeilDiv(c.out_blocks, out_blocks);
                if (shared < threads || !Fits(c, schedule, config)) continue;
                ranked.push_back({EstimateCycles(c, schedule, config), schedule});
              }
            }
          }
        }
      }
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ConvolutionSchedule> schedules;
  for (auto& [cycles, schedule] : ranked) schedules.push_back(schedule);
  return schedules;
}

}  // namespace smelt::vdla::lower

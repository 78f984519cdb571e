// What the options of a configuration mean for a nest: numbers that the schedule is made from and checked by.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/config/main_nest.h"
#include "machine/machine.h"

namespace smelt::kernels::config {

// An axis: tiles x passes over register tiles in one x elements of a register tile.
struct AxisSplit {
  int64_t tiles = 1;
  int64_t passes = 1;
  int64_t registers = 1;
  int64_t tile() const { return passes * registers; }
};

// A sum's axis: blocks that are summed apart x steps x steps unrolled.
struct SumSplit {
  int64_t blocks = 1;
  int64_t steps = 1;
  int64_t unrolled = 1;
  int64_t block() const { return steps * unrolled; }
};

// Where an operand is copied to, in the order in which register tiles read it.
enum class Packing : uint8_t {
  kNone,  // read where it is
  kTile,  // for each tile, or each block of the sum, near the core
  kRoot,  // once, in a phase of its own that all threads share
};

struct Decisions {
  std::vector<AxisSplit> axes;      // of MainNest::axes
  std::vector<SumSplit> reduces;    // of MainNest::reduces
  std::vector<int64_t> tile_order;  // loops over tiles, positions in MainNest::axes
  std::vector<int64_t> pass_order;  // loops over register tiles
  std::vector<int64_t> sum_order;   // positions in MainNest::reduces
  int vectors = 0;                  // of MainNest::vectors
  int64_t lanes_divisor = 1;        // 2: half vectors
  int64_t parallel = 0;             // how many loops over tiles are made into the one that threads share
  bool epilogue_in_tile = false;    // what follows the sums runs over whole tiles, not register tiles
  std::vector<Packing> packing;     // of MainNest::operands
  int64_t packed_run = 0;           // elements of a packed row before the next; 0: whole rows

  // Blocks of the whole sum.
  int64_t Blocks() const;
  // MainNest::axes that vectors run along, -1: along the sum, or there are none.
  int VectorAxis(const MainNest& nest) const;
  int64_t Lanes(const MainNest& nest) const;
};

// Whether the decisions can work on the machine: FailedPrecondition naming stage, loop, and what does not fit.
absl::Status CheckDecisions(const MainNest& nest, const Decisions& decisions, const machine::Machine& target);

// What the templates choose today, in these terms.
Decisions UsualDecisions(const MainNest& nest, const machine::Machine& target);

// Bytes of a packed operand: of what one tile (or block of the sum) reads, or of all.
double PackedBytes(const MainNest& nest, const Decisions& decisions, size_t operand);
// Vectors of accumulators that a register tile holds, over all sums.
int64_t Accumulators(const MainNest& nest, const Decisions& decisions);
// How many of Decisions::tile_order stand outside of a packed operand: those that are made parallel, and the others as
// far as one changes it. At least `parallel`.
size_t PackingDepth(const MainNest& nest, const Decisions& decisions, size_t operand);

}  // namespace smelt::kernels::config

// Pieces of the master template's schedule, one class a concern; users go through master.h.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/config/decisions.h"
#include "kernels/schedule/schedule.h"

namespace smelt::kernels::config {

// The loops of one stage over tiles, register tiles and their elements; empty names where there is none.
struct StageLoops {
  std::vector<std::string> tiles;   // outer first, one an axis that has several, in the order of the decisions
  std::vector<size_t> depths;       // of each: how many of Decisions::tile_order stand outside of what is within it
  std::vector<std::string> passes;  // over register tiles
  std::vector<std::string> rows;    // unrolled
  std::string vectors;              // unrolled
  std::string lanes;
  // What is computed for each register tile, and for each tile, hangs here.
  std::string innermost() const { return !passes.empty() ? passes.back() : tiles.empty() ? "" : tiles.back(); }
};

// A sum and the stage that holds its accumulators: `stage` where they are one.
struct SumStages {
  const te::Operation* sum = nullptr;
  std::string stage;         // the whole sum, in registers or in the tile's scratch
  std::string accumulators;  // of one register tile; the stage that reads the operands
  std::string block_loop;    // of `stage`, over blocks of the sum; empty: there are none
  std::string step;          // of `accumulators`, the innermost loop over terms of the sum
  int first_axis = 0;        // of `accumulators`, that is the sum's axis 0
};

// Copies (or computes in place) the operand that `sums` reads, in the order in which register tiles read it.
absl::Status PackOperand(schedule::Schedule& schedule, const MainNest& nest, const Decisions& decisions, size_t operand,
                         const SumStages& sums, const StageLoops& root_loops, const machine::Machine& target,
                         absl::flat_hash_set<const te::Operation*>* placed);

}  // namespace smelt::kernels::config

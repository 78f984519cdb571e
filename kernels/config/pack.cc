// Packing an operand: where the copy stands, how it is stored, and the loops that make it.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/config/apply.h"
#include "kernels/schedule/state.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::config {
namespace {

using schedule::Schedule;

// How one dimension of the operand is stored.
struct StoredDimension {
  int dimension;
  int64_t block = 1;    // more: in blocks of so many, the remainders innermost
  bool vector = false;  // vectors run along it
};

// The dimensions in their order; those along the register tile's axes blocked by it.
std::vector<StoredDimension> StoredDimensions(const MainNest& nest, const Decisions& decisions,
                                              const NestOperand& operand) {
  std::vector<StoredDimension> dimensions;
  const nests::Access& access = *operand.access;
  const int vector = decisions.VectorAxis(nest);
  for (size_t d = 0; d < access.tensor->shape.size(); ++d) {
    StoredDimension stored{static_cast<int>(d)};
    for (size_t a = 0; a < nest.axes.size(); ++a) {
      const te::Expr& variable = operand.sum->axes[nest.axes[a].position()].var;
      const bool alone = access.indices[d].Same(variable);
      int dimension = -1;
      if (static_cast<int>(a) == vector && CanLieAlong(access, *operand.sum, nest.axes[a].position(), &dimension) &&
          dimension == stored.dimension) {
        stored.vector = true;
      }
      const int64_t registers = decisions.axes[a].registers;
      const int64_t extent = std::min<int64_t>(access.tensor->shape[d], decisions.axes[a].tile());
      if (alone && registers > 1 && registers < extent) stored.block = registers;
    }
    dimensions.push_back(stored);
  }
  return dimensions;
}

}  // namespace

absl::Status PackOperand(Schedule& schedule, const MainNest& nest, const Decisions& decisions, size_t operand,
                         const SumStages& sums, const StageLoops& root_loops, const machine::Machine& target,
                         absl::flat_hash_set<const te::Operation*>* placed) {
  const Packing packing = decisions.packing[operand];
  if (packing == Packing::kNone) return absl::OkStatus();
  const NestOperand& of = nest.operands[operand];
  const bool root = packing == Packing::kRoot;
  std::string panel = of.access->tensor->name;
  if (of.computed) {
    if (!root) SMELT_RETURN_IF_ERROR(schedule.SetScope(panel, ir::Scope::kThread));
    placed->insert(of.access->tensor.get());
  } else if (!schedule::IsRead(schedule.state(), sums.accumulators, panel)) {
    return absl::OkStatus();  // nothing of it is to be copied
  } else {
    SMELT_ASSIGN_OR_RETURN(
        panel, schedule.CacheRead(panel, root ? ir::Scope::kShared : ir::Scope::kThread, {sums.accumulators}));
  }
  if (!root) {
    if (!sums.block_loop.empty()) {
      SMELT_RETURN_IF_ERROR(schedule.ComputeAt(panel, sums.stage, sums.block_loop));
    } else {
      // The outermost loop inside of which the operand stays the same; the first ones are one parallel loop by now.
      const size_t depth = PackingDepth(nest, decisions, operand);
      size_t at = 0;
      while (at + 1 < root_loops.tiles.size() && root_loops.depths[at] < depth) ++at;
      SMELT_RETURN_IF_ERROR(schedule.ComputeAt(panel, nest.root().name, root_loops.tiles[at]));
    }
  }

  // Quotients of blocked dimensions, whole ones, remainders; the vectors' dimension last.
  std::vector<std::pair<int, int64_t>> layout;
  std::vector<std::string> order;
  const std::vector<StoredDimension> dimensions = StoredDimensions(nest, decisions, of);
  const StoredDimension* along = nullptr;
  for (const StoredDimension& stored : dimensions) {
    if (stored.block > 1) layout.emplace_back(stored.dimension, stored.block);
    if (stored.vector) along = &stored;
  }
  for (const StoredDimension& stored : dimensions) {
    if (stored.block == 1 && !stored.vector) layout.emplace_back(stored.dimension, 1);
    if (!stored.vector) order.push_back(nests::AxisName(stored.dimension));
  }
  for (const StoredDimension& stored : dimensions) {
    if (stored.block > 1 && !stored.vector) layout.emplace_back(stored.dimension, 0);
  }
  if (along != nullptr) layout.emplace_back(along->dimension, along->block > 1 ? 0 : 1);
  bool moved = false;
  for (size_t d = 0; d < layout.size(); ++d) moved |= layout[d] != std::pair<int, int64_t>(static_cast<int>(d), 1);
  if (moved) SMELT_RETURN_IF_ERROR(schedule.TransformLayout(panel, layout));

  // Vectors along what is contiguous where the operand comes from.
  const int last = static_cast<int>(of.access->tensor->shape.size()) - 1;
  const int64_t lanes = decisions.Lanes(nest);
  if (along == nullptr) {
    order.erase(std::find(order.begin(), order.end(), nests::AxisName(last)));
  }
  const std::string rows = order.empty() ? "" : order.back();
  std::string run = nests::AxisName(along != nullptr ? along->dimension : last);
  const bool along_rows = along == nullptr || along->dimension == last;
  if (along_rows) {
    int64_t extent = of.access->tensor->shape[last];
    if (decisions.packed_run >= lanes && extent > decisions.packed_run) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(panel, run, decisions.packed_run));
      order.insert(order.begin(), split.first);
      run = split.second;
      extent = decisions.packed_run;
    }
    SMELT_ASSIGN_OR_RETURN(auto split, nests::VectorizeLoop(schedule, panel, run, extent, lanes));
    if (!split.first.empty()) order.push_back(split.first);
    order.push_back(split.second);
  } else {
    // One vector after the other of what lies across them, rounds over the operand's rows innermost: square blocks,
    // which are transposed in registers.
    SMELT_ASSIGN_OR_RETURN(
        auto split, nests::VectorizeLoop(schedule, panel, run, of.access->tensor->shape[along->dimension], lanes));
    order.erase(std::find(order.begin(), order.end(), nests::AxisName(last)));
    if (!split.first.empty()) order.push_back(split.first);
    order.push_back(nests::AxisName(last));
    order.push_back(split.second);
  }
  SMELT_RETURN_IF_ERROR(nests::ReorderLoops(schedule, panel, order));
  if (along_rows && !rows.empty() && !of.computed) {
    SMELT_RETURN_IF_ERROR(nests::AskForRows(schedule, *of.access, panel, rows, target));
    // The templates do so too (templates/blocked.cc).
    const int vector = decisions.VectorAxis(nest);
    if (!root && vector >= 0 && !sums.block_loop.empty() &&
        nests::NextBlockIsFar(*of.sum, *of.access, nest.axes[vector].position(), target)) {
      SMELT_RETURN_IF_ERROR(nests::AskForNextBlock(schedule, of.access->tensor->name, sums.accumulators, sums.step));
    }
  }
  if (!root || decisions.parallel == 0) return absl::OkStatus();
  order.pop_back();
  return nests::ParallelizeOutermost(schedule, panel, order, nests::Elements(*of.access->tensor));
}

}  // namespace smelt::kernels::config

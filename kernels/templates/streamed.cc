// A product of one row with a large matrix, as in a dense layer of one example: every weight is read once, so the
// matrix streams by row after row, several rows of it at a time, and the accumulators of a chunk of columns stay in
// the nearest cache.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

// Rows of the matrix added at once: each load and store of an accumulator serves so many products.
constexpr int64_t kRowsAtOnce = 8;

}  // namespace

absl::Status ScheduleStreamed(schedule::Schedule& schedule, const NestInput& input) {
  const te::Operation& root = *input.nest.root;
  const te::Operation& main = *input.nest.main;
  const int vector_axis = VectorAxisOf(input.nest);
  const int64_t lanes = LanesOf(main, input.target);
  std::vector<std::string> sums;
  std::vector<std::string> loops;
  if (input.nest.main == input.nest.root) {
    SMELT_ASSIGN_OR_RETURN(std::string sum, schedule.CacheWrite(root.name, ir::Scope::kThread));
    sums.push_back(sum);
    for (size_t i = 0; i < root.axes.size(); ++i) loops.push_back(AxisName(static_cast<int>(i)));
  } else {
    for (const Attached& attached : input.nest.attached) {
      sums.push_back(attached.operation->name);
      SMELT_RETURN_IF_ERROR(schedule.SetScope(attached.operation->name, ir::Scope::kThread));
    }
    SMELT_ASSIGN_OR_RETURN(loops, LoopsOfProducer(schedule, root.name, input.nest.attached[0].match));
  }
  // The chunk of columns outermost, so that threads share the matrix out.
  std::vector<TileLoop> outer;
  const int64_t extent = main.axes[vector_axis].extent;
  const int64_t columns = std::min(input.tile[vector_axis], extent);
  SMELT_ASSIGN_OR_RETURN(auto chunk, schedule.Split(root.name, loops[vector_axis], columns));
  outer.push_back({vector_axis, extent, columns, chunk.first});
  for (size_t a = 0; a < loops.size(); ++a) {
    if (loops[a].empty() || static_cast<int>(a) == vector_axis) continue;
    outer.push_back({static_cast<int>(a), main.axes[a].extent, 1, loops[a]});
  }
  std::vector<std::string> order;
  for (const TileLoop& loop : outer) order.push_back(loop.loop);
  SMELT_ASSIGN_OR_RETURN(auto root_split, VectorizeLoop(schedule, root.name, chunk.second, columns, lanes));
  if (!root_split.first.empty()) order.push_back(root_split.first);
  order.push_back(root_split.second);
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, root.name, order));
  SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> tiles,
                         ParallelizePieces(schedule, root.name, outer, input.target.threads, input.nest.Work()));

  for (size_t i = sums.size(); i-- > 0;) {
    const std::string& sum = sums[i];
    SMELT_RETURN_IF_ERROR(schedule.ComputeAt(sum, root.name, tiles.back()));
    const te::Operation& operation = input.nest.main == input.nest.root ? root : *input.nest.attached[i].operation;
    std::vector<std::string> sum_order;
    for (size_t a = 0; a < operation.axes.size(); ++a) {
      if (static_cast<int>(a) != vector_axis) sum_order.push_back(AxisName(static_cast<int>(a)));
    }
    const int last = static_cast<int>(operation.reduce_axes.size()) - 1;
    for (int r = 0; r < last; ++r) sum_order.push_back(ReduceName(r));
    std::string at_once = ReduceName(last);
    if (operation.reduce_axes[last].extent > kRowsAtOnce) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(sum, ReduceName(last), kRowsAtOnce));
      sum_order.push_back(split.first);
      at_once = split.second;
    }
    SMELT_ASSIGN_OR_RETURN(
        auto split, VectorizeLoop(schedule, sum, AxisName(vector_axis), operation.axes[vector_axis].extent, lanes));
    if (!split.first.empty()) sum_order.push_back(split.first);
    sum_order.push_back(at_once);
    sum_order.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, sum, sum_order));
    SMELT_RETURN_IF_ERROR(schedule.Unroll(sum, at_once));
  }
  return absl::OkStatus();
}

}  // namespace smelt::kernels::nests

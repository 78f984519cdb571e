// Products of few rows with a matrix whose rows, one for each column of the result, lie along the sum, as the weights
// of a layer that are stored by outputs: vectors run along the sum, and their lanes are added up in the end. Nothing is
// transposed. Where several rows share the matrix, a block of their dot products is in registers at a time.
//
//   for columns, in parallel                       a few of the matrix's rows
//     for rows and columns, by blocks (DotBlockOf)
//       for the sum, a vector at a time
//         accumulators[row, column] += a[row] * b[column]
//       sums[row, column] = the lanes of accumulators[row, column]
//     root[...] = epilogue(sums)
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;

// Splits the root's loops by the tile, those that the matrix follows outside, so that rows find its tile near.
// `vector_axis`: along which the root is computed in vectors, -1: in none. Returns the innermost loop over tiles.
absl::StatusOr<std::string> SplitRoot(Schedule& schedule, const NestInput& input, const std::vector<std::string>& loops,
                                      int vector_axis) {
  const te::Operation& root = *input.nest.root;
  const te::Operation& main = *input.nest.main;
  std::vector<TileLoop> outer;
  std::vector<std::string> inner;
  std::string columns;
  int64_t width = 1;
  for (size_t a = 0; a < loops.size(); ++a) {
    if (loops[a].empty()) continue;
    const int64_t tile = std::min(input.tile[a], main.axes[a].extent);
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(root.name, loops[a], tile));
    outer.push_back({static_cast<int>(a), main.axes[a].extent, tile, split.first});
    if (static_cast<int>(a) == vector_axis) {
      columns = split.second;
      width = tile;
    } else {
      inner.push_back(split.second);
    }
  }
  const std::vector<Access> accesses = AccessesOf(input.nest, main);
  const Access* matrix = LargestAccess(accesses);
  std::stable_partition(outer.begin(), outer.end(), [&](const TileLoop& loop) {
    return matrix == nullptr || DependsOn(*matrix, main.axes[loop.axis].var);
  });
  std::vector<std::string> order;
  for (const TileLoop& loop : outer) order.push_back(loop.loop);
  order.insert(order.end(), inner.begin(), inner.end());
  if (!columns.empty()) {
    const int64_t lanes = LanesOf(main, input.target);
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, root.name, columns, width, lanes));
    if (!split.first.empty()) order.push_back(split.first);
    order.push_back(split.second);
  }
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, root.name, order));
  SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> tiles,
                         ParallelizePieces(schedule, root.name, outer, input.target.threads, input.nest.Work()));
  return tiles.back();
}

absl::Status ScheduleBlocks(Schedule& schedule, const NestInput& input, const DotBlock& block) {
  const te::Operation& root = *input.nest.root;
  const te::Operation& main = *input.nest.main;
  std::string sum = main.name;
  std::vector<std::string> loops;
  if (&root == &main) {
    SMELT_ASSIGN_OR_RETURN(sum, schedule.CacheWrite(root.name, ir::Scope::kThread));
    for (size_t i = 0; i < root.axes.size(); ++i) loops.push_back(AxisName(static_cast<int>(i)));
  } else {
    SMELT_RETURN_IF_ERROR(schedule.SetScope(sum, ir::Scope::kThread));
    SMELT_ASSIGN_OR_RETURN(loops, LoopsOfProducer(schedule, root.name, input.nest.attached[0].match));
  }
  SMELT_ASSIGN_OR_RETURN(const std::string tile_loop, SplitRoot(schedule, input, loops, block.column_axis));
  SMELT_RETURN_IF_ERROR(schedule.ComputeAt(sum, root.name, tile_loop));

  // The sum by blocks, and the accumulators of one block within the innermost loop over these.
  const int64_t lanes = LanesOf(main, input.target);
  SMELT_ASSIGN_OR_RETURN(auto rows, schedule.Split(sum, AxisName(block.row_axis), block.rows));
  SMELT_ASSIGN_OR_RETURN(auto columns, schedule.Split(sum, AxisName(block.column_axis), block.columns));
  SMELT_ASSIGN_OR_RETURN(auto terms, schedule.Split(sum, ReduceName(0), lanes));
  std::vector<std::string> order;
  for (int a = 0; a < static_cast<int>(main.axes.size()); ++a) {
    if (a != block.row_axis && a != block.column_axis) order.push_back(AxisName(a));
  }
  order.insert(order.end(), {columns.first, rows.first, rows.second, columns.second, terms.first, terms.second});
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, sum, order));
  SMELT_ASSIGN_OR_RETURN(const std::string partial, schedule.Rfactor(sum, terms.second));
  SMELT_RETURN_IF_ERROR(schedule.SetScope(partial, ir::Scope::kLocal));
  SMELT_RETURN_IF_ERROR(schedule.ComputeAt(partial, sum, rows.first));
  order.clear();
  std::vector<std::pair<int, int64_t>> layout;
  for (int a = 0; a < static_cast<int>(main.axes.size()); ++a) {
    layout.emplace_back(a + 1, 1);
    if (a != block.row_axis && a != block.column_axis) order.push_back(AxisName(a + 1));
  }
  layout.emplace_back(0, 1);
  const std::string row = AxisName(block.row_axis + 1), column = AxisName(block.column_axis + 1);
  order.insert(order.end(), {ReduceName(0), row, column, AxisName(0)});
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, partial, order));
  SMELT_RETURN_IF_ERROR(schedule.TransformLayout(partial, layout));
  SMELT_RETURN_IF_ERROR(schedule.Vectorize(partial, AxisName(0)));
  SMELT_RETURN_IF_ERROR(schedule.Unroll(partial, row));
  SMELT_RETURN_IF_ERROR(schedule.Unroll(partial, column));
  SMELT_RETURN_IF_ERROR(AskForNextLines(schedule, input, block, partial, ReduceName(0), column));
  SMELT_RETURN_IF_ERROR(SumLanes(schedule, sum, lanes, lanes));
  SMELT_RETURN_IF_ERROR(schedule.Unroll(sum, rows.second));
  return schedule.Unroll(sum, columns.second);
}

// One result at a time.
absl::Status ScheduleLines(Schedule& schedule, const NestInput& input) {
  const te::Operation& root = *input.nest.root;
  if (input.nest.main == input.nest.root) return ScheduleRowReduction(schedule, input);
  SMELT_ASSIGN_OR_RETURN(std::vector<std::string> loops,
                         LoopsOfProducer(schedule, root.name, input.nest.attached[0].match));
  SMELT_ASSIGN_OR_RETURN(const std::string tile_loop, SplitRoot(schedule, input, loops, /*vector_axis=*/-1));
  for (size_t i = input.nest.attached.size(); i-- > 0;) {
    const te::Operation& sum = *input.nest.attached[i].operation;
    SMELT_RETURN_IF_ERROR(schedule.SetScope(sum.name, ir::Scope::kThread));
    SMELT_RETURN_IF_ERROR(schedule.ComputeAt(sum.name, root.name, tile_loop));
    SMELT_RETURN_IF_ERROR(VectorizeReduction(schedule, sum, AccessesOf(input.nest, sum), input.target));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ScheduleDots(Schedule& schedule, const NestInput& input) {
  if (const std::optional<DotBlock> block = DotBlockOf(input.nest, input.target))
    return ScheduleBlocks(schedule, input, *block);
  return ScheduleLines(schedule, input);
}

}  // namespace smelt::kernels::nests

// Contractions whose shared operand outgrows the nearest caches: the sum is cut into blocks as well, so that a block of
// the operand is used by every row of the tile while it is near. The sums of the tile live in scratch between blocks
// and those of a block in registers. A matrix that a few rows share streams by in the same way, a few of its rows at a
// time, without a panel (SharesAStream). Pictures that the gradient of depthwise weights sums over go by line after
// line, all taps of some channels in registers (SumsForTaps).
//
//   panel[...] = the shared operand in strips             in parallel, see panel.h
//   for tiles, in parallel
//     for blocks of the sum                               or here: a block of the panel, where one tile has all rows
//       for rows and columns of the tile, by register tiles
//         for the block: accumulators += broadcast * vector
//         sums += accumulators
//     root[...] = epilogue(accumulators)
#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/status_macros.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;
using schedule::TailStrategy;

class BlockedNest {
 public:
  BlockedNest(Schedule& schedule, const NestInput& input)
      : schedule_(schedule),
        input_(input),
        root_(*input.nest.root),
        main_(*input.nest.main),
        registers_(ChooseRegisterTile(input.nest, input.tile, input.target, input.accumulators)) {}

  absl::Status Run() {
    if (input_.nest.main == input_.nest.root) {
      SMELT_ASSIGN_OR_RETURN(std::string sum, schedule_.CacheWrite(root_.name, ir::Scope::kThread));
      sums_.push_back({sum, &root_});
      for (size_t i = 0; i < root_.axes.size(); ++i) loops_.push_back(AxisName(static_cast<int>(i)));
    } else {
      for (const Attached& attached : input_.nest.attached) {
        sums_.push_back({attached.operation->name, attached.operation.get()});
        SMELT_RETURN_IF_ERROR(schedule_.SetScope(attached.operation->name, ir::Scope::kThread));
      }
      SMELT_ASSIGN_OR_RETURN(loops_, LoopsOfProducer(schedule_, root_.name, input_.nest.attached[0].match));
    }
    SMELT_RETURN_IF_ERROR(SplitRoot());
    for (size_t i = sums_.size(); i-- > 0;) SMELT_RETURN_IF_ERROR(ScheduleSum(sums_[i]));
    return absl::OkStatus();
  }

 private:
  struct Sum {
    std::string stage;
    const te::Operation* operation;
  };

  absl::Status SplitRoot() {
    std::vector<TileLoop> outer;
    std::vector<std::string> inner;
    std::string vector_inner;
    int64_t vector_extent = 1;
    for (size_t a = 0; a < loops_.size(); ++a) {
      if (loops_[a].empty()) continue;
      const int64_t tile = std::min(input_.tile[a], main_.axes[a].extent);
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root_.name, loops_[a], tile));
      const bool is_vector = static_cast<int>(a) == registers_.vector_axis;
      outer.insert(is_vector ? outer.begin() : outer.end(),
                   {static_cast<int>(a), main_.axes[a].extent, tile, split.first});
      if (is_vector) {
        vector_inner = split.second;
        vector_extent = tile;
      } else {
        inner.push_back(split.second);
      }
    }
    std::vector<std::string> order;
    for (const TileLoop& loop : outer) order.push_back(loop.loop);
    order.insert(order.end(), inner.begin(), inner.end());
    if (!vector_inner.empty()) {
      SMELT_ASSIGN_OR_RETURN(auto split,
                             VectorizeLoop(schedule_, root_.name, vector_inner, vector_extent, registers_.lanes));
      if (!split.first.empty()) order.push_back(split.first);
      order.push_back(split.second);
    }
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, root_.name, order));
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> tiles,
                           ParallelizePieces(schedule_, root_.name, outer, input_.target.threads, input_.nest.Work()));
    tile_loop_ = tiles.back();
    return absl::OkStatus();
  }

  absl::Status ScheduleSum(const Sum& sum) {
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(sum.stage, root_.name, tile_loop_));
    const int64_t block = SumBlock(input_.nest, input_.tile, input_.target);
    if (sum.operation->reduce_axes.size() == 1) {
      const int64_t extent = sum.operation->reduce_axes[0].extent, even = LongestEvenBlock(extent, block);
      if (even < extent) return SumBlocks(sum, even);
    }
    return Accumulate(sum, block);
  }

  // Each block is summed from nothing and then added: the error of a long sum grows with the number of blocks and the
  // length of one, not with their product.
  absl::Status SumBlocks(const Sum& sum, int64_t block) {
    SMELT_ASSIGN_OR_RETURN(auto blocks, schedule_.Split(sum.stage, ReduceName(0), block));
    SMELT_ASSIGN_OR_RETURN(const std::string partial, schedule_.Rfactor(sum.stage, blocks.first));
    const std::string block_loop = ReduceName(0);
    std::vector<std::string> order{block_loop};
    SMELT_ASSIGN_OR_RETURN(const RegisterLoops loops, SplitIntoRegisterTiles(sum, order));
    const std::string tile_loop = order.back();
    loops.AppendTo(order);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, sum.stage, order));
    SMELT_RETURN_IF_ERROR(loops.UnrollIn(schedule_, sum.stage));

    SMELT_RETURN_IF_ERROR(schedule_.SetScope(partial, ir::Scope::kLocal));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(partial, sum.stage, tile_loop));
    // Its axes are the block, then those of the sum; it is computed for one register tile.
    RegisterLoops inner;
    order = {AxisName(0)};
    for (int a = 0; a < static_cast<int>(sum.operation->axes.size()); ++a) {
      if (a == registers_.vector_axis) continue;
      const std::string loop = AxisName(a + 1);
      if (a == registers_.row_axis) {
        inner.rows = loop;
      } else if (a == registers_.plane_axis) {
        inner.planes = loop;
      } else {
        order.push_back(loop);
      }
    }
    SMELT_ASSIGN_OR_RETURN(std::tie(inner.vectors, inner.lanes),
                           VectorizeLoop(schedule_, partial, AxisName(registers_.vector_axis + 1),
                                         sum.operation->axes[registers_.vector_axis].extent, registers_.lanes));
    order.push_back(ReduceName(0));
    inner.AppendTo(order);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, partial, order));
    SMELT_RETURN_IF_ERROR(inner.UnrollIn(schedule_, partial));
    std::string step = ReduceName(0);
    if (const int64_t steps = SumUnroll(registers_, block); steps > 1) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(partial, step, steps));
      SMELT_RETURN_IF_ERROR(schedule_.Unroll(partial, split.second));
      step = split.second;
    }
    SMELT_ASSIGN_OR_RETURN(const std::string streaming, Pack(sum, partial, block_loop, block));
    if (streaming.empty()) return absl::OkStatus();
    return AskForNextBlock(schedule_, streaming, partial, step);
  }

  // The accumulators go on from block to block: taps of windows, and sums that no block divides.
  absl::Status Accumulate(const Sum& sum, int64_t block) {
    const std::string& stage = sum.stage;
    const te::Operation& operation = *sum.operation;
    std::vector<std::string> order;
    std::vector<std::string> within;
    // Blocks of the last, longest part of the sum, or of the last ones whose pixels all stay near; other parts, the
    // taps of a window, are blocks by themselves.
    const int64_t most = PixelsInABlock(input_.nest, input_.tile, input_.target);
    size_t first = operation.reduce_axes.size() - 1;
    for (int64_t pixels = operation.reduce_axes[first].extent; first > 0; --first) {
      pixels *= operation.reduce_axes[first - 1].extent;
      if (pixels > most) break;
    }
    for (size_t r = 0; r < operation.reduce_axes.size(); ++r) {
      const std::string loop = ReduceName(static_cast<int>(r));
      if (r < first) {
        order.push_back(loop);
        continue;
      }
      if (r + 1 < operation.reduce_axes.size()) {
        within.push_back(loop);
        continue;
      }
      if (operation.reduce_axes[r].extent > block) {
        SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(stage, loop, block));
        order.push_back(split.first);
        within.push_back(split.second);
      } else {
        within.push_back(loop);
      }
    }
    const std::string block_loop = order.empty() ? "" : order.back();
    SMELT_ASSIGN_OR_RETURN(const RegisterLoops loops, SplitIntoRegisterTiles(sum, order));
    order.insert(order.end(), within.begin(), within.end());
    loops.AppendTo(order);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, stage, order));
    SMELT_RETURN_IF_ERROR(loops.UnrollIn(schedule_, stage));
    const int64_t terms = operation.reduce_axes.back().extent;
    if (const int64_t steps = SumUnroll(registers_, std::gcd(terms, std::min(terms, block))); steps > 1) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(stage, within.back(), steps));
      SMELT_RETURN_IF_ERROR(schedule_.Unroll(stage, split.second));
    }
    const bool whole_blocks = within.size() == 1 && terms > block;
    return Pack(sum, stage, block_loop, whole_blocks ? block : 0).status();
  }

  // The loops of one register tile.
  struct RegisterLoops {
    std::string planes;   // empty: one plane
    std::string rows;     // empty: one row
    std::string vectors;  // empty: one vector
    std::string lanes;

    void AppendTo(std::vector<std::string>& order) const {
      for (const std::string* loop : {&planes, &rows, &vectors, &lanes}) {
        if (!loop->empty()) order.push_back(*loop);
      }
    }
    absl::Status UnrollIn(Schedule& schedule, const std::string& stage) const {
      for (const std::string* loop : {&planes, &rows, &vectors}) {
        if (!loop->empty()) SMELT_RETURN_IF_ERROR(schedule.Unroll(stage, *loop));
      }
      return absl::OkStatus();
    }
  };

  // Splits the axes of a sum into loops over register tiles, which go to the end of `order`, and those within one.
  absl::StatusOr<RegisterLoops> SplitIntoRegisterTiles(const Sum& sum, std::vector<std::string>& order) {
    const te::Operation& operation = *sum.operation;
    for (int a = 0; a < static_cast<int>(operation.axes.size()); ++a) {
      if (a == registers_.vector_axis || a == registers_.row_axis || a == registers_.plane_axis) continue;
      order.push_back(AxisName(a));
    }
    RegisterLoops loops;
    std::vector<std::string> passes;
    const auto split_rows = [&](int axis, int64_t rows, std::string* loop) -> absl::Status {
      if (axis < 0) return absl::OkStatus();
      *loop = AxisName(axis);
      if (operation.axes[axis].extent <= rows) return absl::OkStatus();
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(sum.stage, *loop, rows));
      passes.push_back(split.first);
      *loop = split.second;
      return absl::OkStatus();
    };
    SMELT_RETURN_IF_ERROR(split_rows(registers_.plane_axis, registers_.planes, &loops.planes));
    SMELT_RETURN_IF_ERROR(split_rows(registers_.row_axis, registers_.rows, &loops.rows));
    std::string columns = AxisName(registers_.vector_axis);
    int64_t width = operation.axes[registers_.vector_axis].extent;
    if (width > registers_.width()) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(sum.stage, columns, registers_.width()));
      // All rows take what they need of a stream before it goes on; a panel stays for the next rows.
      const bool streams = SharesAStream(input_.nest, registers_.vector_axis, input_.target);
      passes.insert(streams ? passes.begin() : passes.end(), split.first);
      columns = split.second;
      width = registers_.width();
    }
    order.insert(order.end(), passes.begin(), passes.end());
    // Whole vectors of sums: one that a mask stores would not stay in a register.
    const TailStrategy tail = width % registers_.lanes == 0 ? TailStrategy::kGuard : TailStrategy::kRoundUp;
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule_, sum.stage, columns, width, registers_.lanes, tail));
    loops.vectors = split.first;
    loops.lanes = split.second;
    return loops;
  }

  // `block_loop`: that over blocks of the sum, empty where there is one block. `block`: terms of its last axis in each,
  // 0 where there are other terms or all of these. Returns the tensor of which each block reads another part from
  // beyond the second cache; empty where none is such.
  absl::StatusOr<std::string> Pack(const Sum& sum, const std::string& reader, const std::string& block_loop,
                                   int64_t block) {
    const Panel panel = PanelOf(input_.structure, input_.nest, *sum.operation, registers_, input_.known, input_.target);
    // What streams by is read once as it lies.
    const bool streams = SharesAStream(input_.nest, registers_.vector_axis, input_.target);
    if (streams && (panel.access == nullptr || !IsKnown(*panel.access->tensor, input_.known))) {
      const Access* matrix = LargestVectorAccess(input_.nest, *sum.operation, registers_.vector_axis);
      return matrix != nullptr && NextIsFar(sum, *matrix) ? matrix->tensor->name : "";
    }
    // No window is blocked (FormOf).
    if (panel.kind == Panel::Kind::kNone || panel.kind == Panel::Kind::kWindow) return "";
    if (block_loop.empty() || !UsedByOneTile(panel) || IsKnown(*panel.access->tensor, input_.known)) {
      SMELT_ASSIGN_OR_RETURN(std::string stage, PackAtRoot(schedule_, input_, panel, reader, registers_, block));
      return IsFromMemory(*panel.access, input_.target) ? stage : "";
    }
    const int64_t columns = std::min(input_.tile[registers_.vector_axis], main_.axes[registers_.vector_axis].extent);
    SMELT_RETURN_IF_ERROR(PackAt(schedule_, input_, panel, reader, sum.stage, block_loop, columns, registers_));
    return panel.kind == Panel::Kind::kCopied && NextIsFar(sum, *panel.access) ? panel.access->tensor->name : "";
  }

  bool NextIsFar(const Sum& sum, const Access& matrix) const {
    return NextBlockIsFar(*sum.operation, matrix, registers_.vector_axis, input_.target);
  }

  // Whether no two tiles read the same part of the operand.
  bool UsedByOneTile(const Panel& panel) const {
    for (size_t a = 0; a < main_.axes.size(); ++a) {
      if (static_cast<int>(a) == registers_.vector_axis || input_.tile[a] >= main_.axes[a].extent) continue;
      if (!panel.ChangesAlong(a)) return false;
    }
    return true;
  }

  Schedule& schedule_;
  const NestInput& input_;
  const te::Operation& root_;
  const te::Operation& main_;
  const RegisterTile registers_;
  std::vector<Sum> sums_;
  std::vector<std::string> loops_;  // the root's loop of each axis of the main operation
  std::string tile_loop_;           // the innermost one over tiles
};

}  // namespace

absl::Status ScheduleBlocked(Schedule& schedule, const NestInput& input) { return BlockedNest(schedule, input).Run(); }

}  // namespace smelt::kernels::nests

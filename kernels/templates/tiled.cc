// Contractions, convolutions, pooling and sums over columns: a tile of accumulators in registers, computed inside the
// loops of what follows, so that bias, residual and activation happen in the store.
//
//   panel[...] = the shared operand in strips             in parallel, see panel.h
//   for tiles, in parallel                                the vectors' axis outside, so that a strip stays near
//     accumulators[rows][vectors] = 0
//     for the sum: accumulators += broadcast * vector     unrolled over rows and vectors
//     root[...] = epilogue(accumulators)
#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/dot_instruction.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/row_operand.h"
#include "kernels/templates/templates.h"
#include "kernels/templates/winograd.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;

class TiledNest {
 public:
  TiledNest(Schedule& schedule, const NestInput& input)
      : schedule_(schedule),
        input_(input),
        root_(*input.nest.root),
        main_(*input.nest.main),
        registers_(ChooseRegisterTile(input.nest, input.tile, input.target, input.accumulators)),
        panels_(PanelsOf(input.structure, input.nest, Sums(), registers_, input.known, input.target)),
        packs_its_own_(PiecesPackTheirOwn(input.nest, panels_, input.tile, input.known, input.target.threads)) {}

  absl::Status Run() {
    SMELT_RETURN_IF_ERROR(PlaceSums());
    SMELT_RETURN_IF_ERROR(SplitRoot());
    for (const std::string& sum : sums_) SMELT_RETURN_IF_ERROR(ScheduleSum(sum));
    SMELT_RETURN_IF_ERROR(Pack());
    SMELT_RETURN_IF_ERROR(ComputeRows());
    if (registers_.row_axis >= 0 && sums_.size() == 1)
      SMELT_RETURN_IF_ERROR(AskBesideSums(schedule_, input_, tile_loop_));
    const std::optional<WidthVectors> width = WidthVectorsOf(input_.nest);
    if (width) SMELT_RETURN_IF_ERROR(StoreInnermost(width->input->name, width->input->shape.size(), width->dimension));
    if (!width && !KeepsSumsInsideVectors()) return absl::OkStatus();
    for (const std::string& sum : sums_) {
      SMELT_RETURN_IF_ERROR(StoreInnermost(sum, main_.axes.size(), registers_.vector_axis));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<const te::Operation*> Sums() const {
    if (input_.nest.main == input_.nest.root) return {&root_};
    std::vector<const te::Operation*> sums;
    for (const Attached& attached : input_.nest.attached) sums.push_back(attached.operation.get());
    return sums;
  }

  // Whether some packed operand changes along the axis, as with the batch of a batched product.
  bool PanelsDependOn(size_t axis) const {
    return std::any_of(panels_.begin(), panels_.end(), [&](const Panel& panel) { return panel.ChangesAlong(axis); });
  }

  bool IsRow(size_t axis) const {
    return static_cast<int>(axis) == registers_.row_axis || static_cast<int>(axis) == registers_.plane_axis;
  }

  // Whether an axis inside that of the vectors has several accumulators, which would keep the elements of each apart.
  bool KeepsSumsInsideVectors() const {
    if (registers_.vector_axis < 0) return false;
    for (size_t axis = registers_.vector_axis + 1; axis < main_.axes.size(); ++axis) {
      if (std::min(input_.tile[axis], main_.axes[axis].extent) > 1) return true;
    }
    return false;
  }

  absl::Status StoreInnermost(const std::string& stage, size_t rank, int dimension) {
    std::vector<std::pair<int, int64_t>> layout;
    for (int d = 0; d < static_cast<int>(rank); ++d) {
      if (d != dimension) layout.emplace_back(d, 1);
    }
    layout.emplace_back(dimension, 1);
    return schedule_.TransformLayout(stage, layout);
  }

  // The stages that hold the sums, and the root's loop of each of the main operation's axes.
  absl::Status PlaceSums() {
    if (input_.nest.main == input_.nest.root) {
      SMELT_ASSIGN_OR_RETURN(std::string sum, schedule_.CacheWrite(root_.name, ir::Scope::kLocal));
      sums_.push_back(sum);
      for (size_t i = 0; i < root_.axes.size(); ++i) loops_.push_back(AxisName(static_cast<int>(i)));
      return absl::OkStatus();
    }
    for (const Attached& attached : input_.nest.attached) {
      sums_.push_back(attached.operation->name);
      SMELT_RETURN_IF_ERROR(schedule_.SetScope(attached.operation->name, ir::Scope::kLocal));
    }
    SMELT_ASSIGN_OR_RETURN(loops_, LoopsOfProducer(schedule_, root_.name, input_.nest.attached[0].match));
    return absl::OkStatus();
  }

  // The root's loops after splitting, by what they are for; empty names and lists where there is none.
  struct RootLoops {
    std::vector<TileLoop> panel_outer;  // loops over tiles that a panel depends on, besides the vectors'
    std::vector<TileLoop> others_outer;
    std::vector<std::string> others_inner;
    TileLoop vector_outer;
    std::string vector_pass, vector_inner;  // over register tiles within a tile, within one of those
    std::string row_pass, row_inner;
    std::string plane_inner;
    std::string line_inner;     // register tiles move along it
    int64_t vector_extent = 1;  // of the tile
    int64_t row_extent = 1;

    bool any_outer() const {
      return !vector_outer.loop.empty() || !panel_outer.empty() || !others_outer.empty() || !others_inner.empty() ||
             !row_pass.empty() || !vector_pass.empty() || !line_inner.empty();
    }
  };

  absl::Status SplitRoot() {
    RootLoops loops;
    for (size_t a = 0; a < main_.axes.size(); ++a) {
      if (!loops_[a].empty()) SMELT_RETURN_IF_ERROR(SplitByTile(a, &loops));
    }
    SMELT_RETURN_IF_ERROR(SplitPasses(&loops));
    if (!loops.any_outer() || (!panels_.empty() && loops.vector_outer.loop.empty() && loops.panel_outer.empty() &&
                               loops.others_outer.empty())) {
      // Everything is one tile; a loop of one iteration holds it.
      const std::string whole = loops.vector_inner.empty() ? loops_[0] : loops.vector_inner;
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root_.name, whole, loops.vector_extent));
      loops.vector_outer = {registers_.vector_axis, loops.vector_extent, loops.vector_extent, split.first};
      loops.vector_inner = split.second;
    }
    OrderOuter(loops);
    return OrderAll(loops);
  }

  absl::Status SplitByTile(size_t axis, RootLoops* loops) {
    const int64_t extent = main_.axes[axis].extent;
    const int64_t tile = std::min(input_.tile[axis], extent);
    const bool is_vector = static_cast<int>(axis) == registers_.vector_axis;
    const bool is_row = static_cast<int>(axis) == registers_.row_axis;
    std::string outer;
    std::string inner = loops_[axis];
    if (tile < extent && (tile > 1 || is_vector || is_row)) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root_.name, inner, tile));
      outer = split.first;
      inner = split.second;
    } else if (tile < extent) {
      outer = inner;
      inner.clear();
    }
    const TileLoop over_tiles{static_cast<int>(axis), extent, tile, outer};
    if (is_vector) {
      loops->vector_outer = over_tiles;
      loops->vector_inner = inner;
      loops->vector_extent = tile;
      return absl::OkStatus();
    }
    if (!outer.empty()) (PanelsDependOn(axis) ? loops->panel_outer : loops->others_outer).push_back(over_tiles);
    if (inner.empty()) return absl::OkStatus();
    if (is_row) {
      loops->row_inner = inner;
      loops->row_extent = tile;
    } else if (static_cast<int>(axis) == registers_.plane_axis) {
      loops->plane_inner = inner;
    } else if (static_cast<int>(axis) == registers_.line_axis) {
      loops->line_inner = inner;
    } else {
      loops->others_inner.push_back(inner);
    }
    return absl::OkStatus();
  }

  // Passes over the register tile within the tile.
  absl::Status SplitPasses(RootLoops* loops) {
    if (loops->row_extent > registers_.rows) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root_.name, loops->row_inner, registers_.rows));
      loops->row_pass = split.first;
      loops->row_inner = split.second;
    }
    if (loops->vector_extent > registers_.width()) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root_.name, loops->vector_inner, registers_.width()));
      loops->vector_pass = split.first;
      loops->vector_inner = split.second;
    }
    return absl::OkStatus();
  }

  // The loops over tiles.
  std::vector<TileLoop> OrderOuter(const RootLoops& loops) {
    std::vector<TileLoop> outer = loops.panel_outer;
    // A matrix that rows share stays near while they pass; pixels of windows are read whole.
    const bool shared = IsContraction(main_) && !IsDepthwise(input_.nest);
    if (!loops.vector_outer.loop.empty() && shared) outer.push_back(loops.vector_outer);
    outer.insert(outer.end(), loops.others_outer.begin(), loops.others_outer.end());
    if (!loops.vector_outer.loop.empty() && !shared) outer.push_back(loops.vector_outer);
    return outer;
  }

  // Tiles, register tiles within a tile, and then, unrolled, what is in registers.
  absl::Status OrderAll(const RootLoops& loops) {
    const std::vector<TileLoop> outer = OrderOuter(loops);
    std::vector<std::string> order;
    for (const TileLoop& loop : outer) order.push_back(loop.loop);
    order.insert(order.end(), loops.others_inner.begin(), loops.others_inner.end());
    for (const std::string* loop : {&loops.row_pass, &loops.vector_pass, &loops.line_inner}) {
      if (!loop->empty()) order.push_back(*loop);
    }
    const bool passes = order.size() > outer.size();
    tile_loop_ = order.back();
    for (const std::string* loop : {&loops.plane_inner, &loops.row_inner}) {
      if (!loop->empty()) order.push_back(*loop);
    }
    if (!loops.vector_inner.empty()) {
      const int64_t width = std::min(loops.vector_extent, registers_.width());
      SMELT_ASSIGN_OR_RETURN(auto split,
                             VectorizeLoop(schedule_, root_.name, loops.vector_inner, width, registers_.lanes));
      if (!split.first.empty()) {
        SMELT_RETURN_IF_ERROR(schedule_.Unroll(root_.name, split.first));
        order.push_back(split.first);
      }
      order.push_back(split.second);
    }
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, root_.name, order));
    for (const std::string* loop : {&loops.plane_inner, &loops.row_inner}) {
      if (!loop->empty()) SMELT_RETURN_IF_ERROR(schedule_.Unroll(root_.name, *loop));
    }
    const size_t shared_out = packs_its_own_ ? outer.size() - loops.others_outer.size() : outer.size();
    const std::vector<TileLoop> pieces(outer.begin(), outer.begin() + static_cast<int64_t>(shared_out));
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> tiles,
                           ParallelizePieces(schedule_, root_.name, pieces, input_.target.threads, input_.nest.Work()));
    if (!tiles.empty()) panel_loop_ = tiles.back();
    row_loop_ = loops.row_pass;
    if (!passes) row_loop_ = tile_loop_ = shared_out < outer.size() ? outer.back().loop : panel_loop_;
    return absl::OkStatus();
  }

  // Whether steps of the sum read what other rows of accumulators do.
  bool ReadsAcrossRows(int reduce) const {
    const te::Expr& row = main_.axes[registers_.row_axis].var;
    for (const Access& access : AccessesOf(input_.nest, main_)) {
      for (const te::Expr& index : access.indices) {
        if (te::Mentions(index, row) && te::Mentions(index, main_.reduce_axes[reduce].var)) return true;
      }
    }
    return false;
  }

  // Whether the operand that rows share lies where the caller put it.
  bool ReadsInPlace() const {
    if (registers_.vector_axis < 0) return false;
    const Access* matrix = LargestVectorAccess(input_.nest, main_, registers_.vector_axis);
    return matrix != nullptr && std::none_of(panels_.begin(), panels_.end(), [&](const Panel& panel) {
             return panel.access->tensor == matrix->tensor;
           });
  }

  // Sum loops outside, rows and vectors of accumulators unrolled inside.
  absl::Status ScheduleSum(const std::string& sum) {
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(sum, root_.name, tile_loop_));
    std::vector<std::string> order;
    for (size_t a = 0; a < main_.axes.size(); ++a) {
      if (static_cast<int>(a) == registers_.vector_axis || IsRow(a)) continue;
      order.push_back(AxisName(static_cast<int>(a)));
    }
    std::vector<int> reduces(main_.reduce_axes.size());
    std::iota(reduces.begin(), reduces.end(), 0);
    // Lines that taps down the window read together are taken one after the other: each is loaded once.
    if (registers_.line_axis >= 0)
      std::stable_partition(reduces.begin(), reduces.end(), [&](int r) { return !ReadsAcrossRows(r); });
    for (int r : reduces) order.push_back(ReduceName(r));
    for (int axis : {registers_.plane_axis, registers_.row_axis}) {
      if (axis >= 0) order.push_back(AxisName(axis));
    }
    if (registers_.vector_axis >= 0) {
      const std::string axis = AxisName(registers_.vector_axis);
      SMELT_ASSIGN_OR_RETURN(
          auto split, VectorizeLoop(schedule_, sum, axis, main_.axes[registers_.vector_axis].extent, registers_.lanes));
      if (!split.first.empty()) {
        SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum, split.first));
        order.push_back(split.first);
      }
      order.push_back(split.second);
    }
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, sum, order));
    for (int axis : {registers_.plane_axis, registers_.row_axis}) {
      if (axis >= 0) SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum, AxisName(axis)));
    }
    SMELT_RETURN_IF_ERROR(UnrollSum(sum));
    if (ReadsInPlace()) SMELT_RETURN_IF_ERROR(AskForNextStrip(schedule_, input_, registers_, sum, step_));
    return AskForNextTilesRows(schedule_, input_, registers_, sum, step_);
  }

  // Few taps whole; long sums a few steps at a time.
  absl::Status UnrollSum(const std::string& sum) {
    const size_t last = main_.reduce_axes.size() - 1;
    for (size_t r = 0; r <= last; ++r) {
      const std::string loop = step_ = ReduceName(static_cast<int>(r));
      const bool short_inner = r == last && main_.reduce_axes[r].extent <= MostUnrolled(input_.nest);
      if (UnrollsAll(input_.nest, registers_) || short_inner) {
        SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum, loop));
      } else if (r == last && IsContraction(main_)) {
        const int64_t steps = SumUnroll(registers_, main_.reduce_axes[r].extent);
        if (steps == 1) continue;
        SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(sum, loop, steps));
        SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum, split.second));
        step_ = split.second;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Pack() {
    for (const Panel& panel : panels_) {
      const std::string& sum = input_.nest.main == input_.nest.root ? sums_[0] : panel.sum->name;
      if (panel.kind == Panel::Kind::kWindow || packs_its_own_) {
        const int64_t columns =
            std::min(input_.tile[registers_.vector_axis], main_.axes[registers_.vector_axis].extent);
        SMELT_RETURN_IF_ERROR(PackAt(schedule_, input_, panel, sum, root_.name, panel_loop_, columns, registers_));
      } else {
        SMELT_RETURN_IF_ERROR(PackAtRoot(schedule_, input_, panel, sum, registers_, /*block=*/0).status());
      }
    }
    return absl::OkStatus();
  }

  // Rows that the kernel computes itself, beside the register tiles that read them.
  absl::Status ComputeRows() {
    if (row_loop_.empty()) return absl::OkStatus();
    for (const Access* operand : RowOperandsOf(input_, Sums(), registers_))
      SMELT_RETURN_IF_ERROR(ComputeRowsAt(schedule_, input_, *operand, root_.name, row_loop_));
    return absl::OkStatus();
  }

  Schedule& schedule_;
  const NestInput& input_;
  const te::Operation& root_;
  const te::Operation& main_;
  const RegisterTile registers_;
  const std::vector<Panel> panels_;
  const bool packs_its_own_;  // each piece of the parallel loop makes the panels that it reads
  std::vector<std::string> sums_;
  std::vector<std::string> loops_;  // the root's loop of each axis of the main operation
  std::string tile_loop_;           // the accumulators live inside it
  std::string step_;                // the innermost loop of a sum
  std::string row_loop_;            // all columns of the rows that are in registers; empty: they come in several passes
  std::string panel_loop_;          // the innermost one over tiles, or over panels: what a piece packs lives inside it
};

}  // namespace

absl::Status ScheduleTiled(Schedule& schedule, const NestInput& input) {
  if (input.nest.winograd) return ScheduleWinograd(schedule, input);
  if (const std::optional<DotForm> form = DotFormOf(input.nest, input.target);
      form && IsDirectProduct(schedule, input, *form))
    return ScheduleDotInstruction(schedule, input, *form);
  switch (FormOf(input.nest, input.target)) {
    case TiledForm::kDots:
      return ScheduleDots(schedule, input);
    case TiledForm::kStreamed:
      return ScheduleStreamed(schedule, input);
    case TiledForm::kBlocked:
      return ScheduleBlocked(schedule, input);
    case TiledForm::kRegisters:
      break;
  }
  return TiledNest(schedule, input).Run();
}

}  // namespace smelt::kernels::nests

// The schedule of a contraction by an instruction (dot_instruction.h).
//
//   packed[...] = right operand                                   a phase; column sums, where they are needed, another
//   parallel over tiles of columns, other axes and rows
//     accumulators = initial value
//     for the sum, a group at a time: an instruction for each row and vector, or for each tile of a matrix unit
//     root[...] = epilogue(accumulators)
#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "kernels/templates/dot_instruction.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;
using schedule::TailStrategy;

// Elements of a copy from which on threads share it.
constexpr double kWorthAFork = 64 * 1024;
// Columns that are packed before the next rows are: lines of the caches are then read once, and a few of them one after
// the other come from memory sooner.
constexpr int64_t kLine = 64, kLines = 4 * kLine;

class DotNest {
 public:
  DotNest(Schedule& schedule, const NestInput& input, const DotForm& form)
      : schedule_(schedule),
        input_(input),
        root_(*input.nest.root),
        main_(*input.nest.main),
        form_(form),
        instruction_(*form.instruction),
        lanes_(instruction_.lanes),
        depth_(te::DepthOf(instruction_.kind)),
        terms_(TermsOf(instruction_)),
        columns_(static_cast<int>(main_.axes.size()) - 1),
        sum_axis_(static_cast<int>(main_.reduce_axes.size()) - 1),
        width_(std::clamp<int64_t>(CeilDiv(input.tile[columns_], lanes_), 1, 4) * lanes_),
        most_(std::max<int64_t>(instruction_.accumulators * lanes_ / width_, 1)) {}

  absl::Status Run() {
    SMELT_RETURN_IF_ERROR(PlaceSum());
    SMELT_RETURN_IF_ERROR(PrepareOperands());
    SMELT_RETURN_IF_ERROR(SplitRoot());
    SMELT_RETURN_IF_ERROR(ScheduleSum());
    SMELT_RETURN_IF_ERROR(SchedulePacking());
    return shift_.empty() ? absl::OkStatus() : ScheduleShift();
  }

 private:
  std::string Named(std::string name) const { return form_.transposed ? name + ".transposed" : name; }

  absl::Status PlaceSum() {
    if (input_.nest.main == input_.nest.root) {
      SMELT_ASSIGN_OR_RETURN(sum_, schedule_.CacheWrite(root_.name, ir::Scope::kLocal));
      for (size_t i = 0; i < root_.axes.size(); ++i) loops_.push_back(AxisName(static_cast<int>(i)));
      return absl::OkStatus();
    }
    sum_ = main_.name;
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(sum_, ir::Scope::kLocal));
    SMELT_ASSIGN_OR_RETURN(loops_, LoopsOfProducer(schedule_, root_.name, input_.nest.attached[0].match));
    return absl::OkStatus();
  }

  // Whole groups, the left operand as the instruction wants it, and the right one packed.
  absl::Status PrepareOperands() {
    std::string left = form_.left->name, right = form_.right->name;
    if (main_.reduce_axes[sum_axis_].extent % terms_ != 0) {
      SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> padded,
                             schedule_.PadReduction(sum_, ReduceName(sum_axis_), terms_));
      const bool in_order = padded[0].starts_with(left + ".pad");
      left = padded[in_order ? 0 : 1];
      right = padded[in_order ? 1 : 0];
      SMELT_RETURN_IF_ERROR(ScheduleCopy(left, form_.left->shape));
      padded_ = true;
    }
    if (instruction_.shifts) {
      SMELT_ASSIGN_OR_RETURN(shift_, schedule_.ShiftOperand(sum_, left));
    }
    if (padded_) {
      packed_ = right;
      return absl::OkStatus();
    }
    std::vector<std::string> readers{sum_};
    if (!shift_.empty()) readers.push_back(shift_);
    SMELT_ASSIGN_OR_RETURN(packed_, schedule_.CacheRead(right, ir::Scope::kShared, readers));
    return absl::OkStatus();
  }

  // A plain copy: its last dimension in vectors, its first shared out.
  absl::Status ScheduleCopy(const std::string& stage, const std::vector<int64_t>& shape) {
    double elements = 1;
    for (const int64_t extent : shape) elements *= static_cast<double>(extent);
    const std::vector<std::string> loops = schedule_.Loops(stage);
    SMELT_ASSIGN_OR_RETURN(const int64_t extent, schedule_.Extent(stage, loops.back()));
    SMELT_RETURN_IF_ERROR(VectorizeLoop(schedule_, stage, loops.back(), extent, 16).status());
    if (loops.size() < 2 || elements < kWorthAFork || shape[0] < 2) return absl::OkStatus();
    return schedule_.Parallel(stage, loops[0]);
  }

  absl::Status SplitRoot() {
    std::vector<std::string> batches, rows_outer, inner;  // of tiles, and within one
    std::string row_outer, column_tiles, columns;
    for (int a = 0; a <= columns_; ++a) {
      if (loops_[a].empty()) continue;
      const int64_t extent = main_.axes[a].extent;
      if (a == columns_) {
        SMELT_ASSIGN_OR_RETURN(const auto split, schedule_.Split(root_.name, loops_[a], width_));
        column_tiles = split.first;
        columns = split.second;
      } else if (a == form_.row_axis) {
        const int64_t most = most_ * form_.rows;
        // Whole tiles of a matrix unit; there are as many rows.
        const int64_t rows = std::max<int64_t>(std::min({input_.tile[a], extent, most}) / form_.rows, 1) * form_.rows;
        SMELT_ASSIGN_OR_RETURN(const auto split, SplitRows(a, rows));
        row_outer = split.first;
        inner.push_back(split.second);
      } else if (a == form_.line_axis) {
        SMELT_ASSIGN_OR_RETURN(const auto split, SplitRows(a, std::min({input_.tile[a], extent, most_})));
        rows_outer.push_back(split.first);
        inner.push_back(split.second);
      } else {
        const bool batch = std::find(form_.batch_axes.begin(), form_.batch_axes.end(), a) != form_.batch_axes.end();
        (batch ? batches : rows_outer).push_back(loops_[a]);
      }
    }
    if (!row_outer.empty()) rows_outer.push_back(row_outer);
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> outer,
                           OrderTiles(column_tiles, std::move(batches), std::move(rows_outer)));
    std::vector<std::string> order = outer;
    // Loops of one iteration have no axis here; they must not stand between the tiles, which become one loop.
    for (const std::string& loop : schedule_.Loops(root_.name)) {
      const auto has = [&](const std::vector<std::string>& loops) {
        return std::find(loops.begin(), loops.end(), loop) != loops.end();
      };
      if (loop != columns && !has(outer) && !has(inner)) order.push_back(loop);
    }
    order.insert(order.end(), inner.begin(), inner.end());
    const int64_t width = std::min(width_, main_.axes[columns_].extent);
    SMELT_ASSIGN_OR_RETURN(const auto vectors, VectorizeLoop(schedule_, root_.name, columns, width, lanes_));
    if (!vectors.first.empty()) {
      SMELT_RETURN_IF_ERROR(schedule_.Unroll(root_.name, vectors.first));
      order.push_back(vectors.first);
    }
    order.push_back(vectors.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, root_.name, order));
    // Sums of a matrix unit are read from memory; others are in registers, whose numbers are constants.
    for (const std::string& loop : inner) {
      if (instruction_.rows == 1) SMELT_RETURN_IF_ERROR(schedule_.Unroll(root_.name, loop));
    }
    // All tiles are one loop, which threads share evenly.
    tile_loop_ = outer[0];
    for (size_t i = 1; i < outer.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(tile_loop_, schedule_.Fuse(root_.name, tile_loop_, outer[i]));
    }
    return ParallelizeOutermost(schedule_, root_.name, {tile_loop_}, input_.nest.Work());
  }

  // Loops over tiles, outermost first. Vectors go over all rows with a tile of columns, which stays in the nearest
  // cache. A matrix unit reads faster than that: columns are inside where all of them stay in the next one, and else
  // inside of as many rows as stay there.
  absl::StatusOr<std::vector<std::string>> OrderTiles(const std::string& columns, std::vector<std::string> batches,
                                                      std::vector<std::string> rows) {
    std::vector<std::string> order;
    if (instruction_.rows == 1) {
      order.push_back(columns);
      order.insert(order.end(), batches.begin(), batches.end());
      order.insert(order.end(), rows.begin(), rows.end());
      return order;
    }
    double count = 1;
    for (const int axis : form_.batch_axes) count *= static_cast<double>(main_.axes[axis].extent);
    const auto bytes = [&](const te::Operation& operand, hlo::PrimitiveType type) {
      return Elements(operand) * static_cast<double>(hlo::StorageBytes(type)) / count;
    };
    const double cache = static_cast<double>(input_.target.LevelBytes(1));
    order = std::move(batches);
    size_t inside = rows.size();  // from this one on, row loops are within that of columns
    if (bytes(*form_.right, instruction_.right) > cache / 2) {
      double left = bytes(*form_.left, instruction_.left);
      for (inside = 0; inside + 1 < rows.size() && left > cache / 4; ++inside) {
        SMELT_ASSIGN_OR_RETURN(const int64_t extent, schedule_.Extent(root_.name, rows[inside]));
        left /= static_cast<double>(extent);
      }
      if (left > cache / 4) {
        SMELT_ASSIGN_OR_RETURN(const int64_t tiles, schedule_.Extent(root_.name, rows[inside]));
        int64_t parts = 1;  // equal ones
        while (parts < tiles && (tiles % parts != 0 || left / static_cast<double>(parts) > cache / 4)) ++parts;
        SMELT_ASSIGN_OR_RETURN(const auto split, schedule_.Split(root_.name, rows[inside], tiles / parts));
        rows[inside] = split.first;
        rows.insert(rows.begin() + static_cast<int64_t>(++inside), split.second);
      }
    }
    order.insert(order.end(), rows.begin(), rows.begin() + static_cast<int64_t>(inside));
    order.push_back(columns);
    order.insert(order.end(), rows.begin() + static_cast<int64_t>(inside), rows.end());
    return order;
  }

  // The last part begins earlier, so that all have as many rows.
  absl::StatusOr<std::pair<std::string, std::string>> SplitRows(int axis, int64_t rows) {
    const TailStrategy tail = main_.axes[axis].extent % rows == 0 ? TailStrategy::kGuard : TailStrategy::kShiftInwards;
    return schedule_.Split(root_.name, loops_[axis], rows, tail);
  }

  absl::Status ScheduleSum() {
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(sum_, root_.name, tile_loop_));
    SMELT_ASSIGN_OR_RETURN(const auto vectors,
                           schedule_.Split(sum_, AxisName(columns_), lanes_, TailStrategy::kRoundUp));
    SMELT_ASSIGN_OR_RETURN(const auto groups, schedule_.Split(sum_, ReduceName(sum_axis_), terms_));
    std::vector<std::string> order;
    for (int a = 0; a < columns_; ++a) {
      if (a != form_.row_axis && a != form_.line_axis) order.push_back(AxisName(a));
    }
    for (int r = 0; r < sum_axis_; ++r) order.push_back(ReduceName(r));
    order.push_back(groups.first);
    const std::string lines = form_.line_axis >= 0 ? AxisName(form_.line_axis) : "";
    if (!lines.empty()) order.push_back(lines);
    std::string rows = form_.row_axis >= 0 ? AxisName(form_.row_axis) : "", tile = vectors.second;
    if (instruction_.rows > 1) {
      SMELT_ASSIGN_OR_RETURN(std::tie(rows, tile), schedule_.Split(sum_, rows, form_.rows));
      order.insert(order.end(), {rows, vectors.first, tile, vectors.second, groups.second});
    } else {
      if (!rows.empty()) order.push_back(rows);
      order.insert(order.end(), {vectors.first, vectors.second, groups.second});
    }
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, sum_, order));
    for (const std::string& loop : {lines, rows}) {
      if (!loop.empty()) SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum_, loop));
    }
    SMELT_RETURN_IF_ERROR(schedule_.Unroll(sum_, vectors.first));
    return schedule_.Tensorize(sum_, tile, Named(NameOf(instruction_, form_.rows)));
  }

  absl::Status SchedulePacking() {
    const std::vector<int64_t>& shape = form_.right->shape;
    const int rank = static_cast<int>(shape.size());
    const int k = form_.transposed ? rank - 1 : rank - 2, column = form_.transposed ? rank - 2 : rank - 1;
    std::vector<std::pair<int, int64_t>> layout{{column, width_}};
    std::vector<std::string> order;
    for (int d = 0; d + 2 < rank; ++d) {
      layout.emplace_back(d, 1);
      order.push_back(AxisName(d));
    }
    layout.insert(layout.end(), {{k, depth_}, {column, 0}, {k, 0}});
    SMELT_RETURN_IF_ERROR(schedule_.TransformLayout(packed_, layout));
    // Whole lines of the operand's rows at a time, where they lie along the columns.
    std::string strip = AxisName(column), lines;
    if (!form_.transposed && shape[column] > kLine) {
      int64_t line = kLine;
      const auto pieces = [&](int64_t width) { return shape[column] % width == 0 ? shape[column] / width : 0; };
      while (2 * line <= kLines && pieces(2 * line) >= std::max(input_.target.threads, 1)) line *= 2;
      // No part of a line where vectors are whole: they are interleaved by an instruction without a guard.
      while (shape[column] % lanes_ == 0 && shape[column] % line != 0) line -= lanes_;
      SMELT_ASSIGN_OR_RETURN(std::tie(lines, strip), schedule_.Split(packed_, strip, line));
    }
    SMELT_ASSIGN_OR_RETURN(const auto columns, schedule_.Split(packed_, strip, lanes_));
    SMELT_ASSIGN_OR_RETURN(const auto groups, schedule_.Split(packed_, AxisName(k), depth_));
    order.insert(order.begin(), lines.empty() ? columns.first : lines);
    order.push_back(groups.first);
    if (!lines.empty()) order.push_back(columns.first);
    order.insert(order.end(), {groups.second, columns.second});
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, packed_, order));
    if (!padded_ && shape[column] % lanes_ == 0) {
      SMELT_RETURN_IF_ERROR(
          schedule_.Tensorize(packed_, groups.second,
                              Named(absl::StrCat("interleave_", depth_, "x", lanes_, "_",
                                                 std::string(hlo::PrimitiveTypeName(instruction_.right))))));
    } else {
      SMELT_RETURN_IF_ERROR(schedule_.Vectorize(packed_, columns.second));
      SMELT_RETURN_IF_ERROR(schedule_.Unroll(packed_, groups.second));
    }
    if (Elements(*form_.right) < kWorthAFork || shape[column] <= lanes_) return absl::OkStatus();
    return schedule_.Parallel(packed_, lines.empty() ? columns.first : lines);
  }

  // The sums of the right operand's columns, by the same instruction with a left operand of ones.
  absl::Status ScheduleShift() {
    const std::vector<std::string> loops = schedule_.Loops(shift_);
    const size_t axes = loops.size() - main_.reduce_axes.size();
    SMELT_ASSIGN_OR_RETURN(const auto vectors, schedule_.Split(shift_, AxisName(static_cast<int>(axes) - 1), lanes_,
                                                               TailStrategy::kRoundUp));
    SMELT_ASSIGN_OR_RETURN(const auto groups, schedule_.Split(shift_, ReduceName(sum_axis_), depth_));
    std::vector<std::string> order{vectors.first};
    for (size_t a = 0; a + 1 < axes; ++a) order.push_back(AxisName(static_cast<int>(a)));
    for (int r = 0; r < sum_axis_; ++r) order.push_back(ReduceName(r));
    order.insert(order.end(), {groups.first, vectors.second, groups.second});
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, shift_, order));
    SMELT_RETURN_IF_ERROR(schedule_.Tensorize(
        shift_, vectors.second, Named(te::DotIntrinsic(te::DotKind::kOnesSigned, instruction_.lanes)->name)));
    if (Elements(*form_.right) < kWorthAFork || main_.axes[columns_].extent <= lanes_) return absl::OkStatus();
    return schedule_.Parallel(shift_, vectors.first);
  }

  Schedule& schedule_;
  const NestInput& input_;
  const te::Operation& root_;
  const te::Operation& main_;
  const DotForm& form_;
  const DotInstruction& instruction_;
  const int64_t lanes_, depth_, terms_;
  const int columns_, sum_axis_;
  const int64_t width_;             // columns of a tile
  const int64_t most_;              // calls of one column that have registers for their sums
  std::vector<std::string> loops_;  // the root's loop of each axis of the main operation
  std::string sum_, packed_, shift_, tile_loop_;
  bool padded_ = false;
};

}  // namespace

absl::Status ScheduleDotInstruction(Schedule& schedule, const NestInput& input, const DotForm& form) {
  return DotNest(schedule, input, form).Run();
}

}  // namespace smelt::kernels::nests

// Convolutions by minimal filtering:
//
//   weights transformed, in the order in which register tiles read them    a phase that reads nothing but the weights
//   parallel for pieces of work: blocks of tiles by output features
//     border: the input that the block reads, with its padding
//     for tiles, vectors of input features: transform (m+2)^2 vectors
//     for features, by register tiles
//       for the (m+2)^2 products, rows of tiles: accumulators += broadcast * vector, over input features
//       for tiles, vectors of output features
//         transform back to m^2 vectors, in registers
//         root[...] = epilogue(...)
#include "kernels/templates/winograd.h"

#include <algorithm>

#include "base/status_macros.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;

// Axes of the stages over tiles, and of a tile among them.
enum Axis { kImage, kTileRow, kTileColumn, kRow, kColumn, kFeature };
constexpr int kTileAxes[] = {kImage, kTileRow, kTileColumn, kFeature};

class WinogradNest {
 public:
  WinogradNest(Schedule& schedule, const NestInput& input)
      : schedule_(schedule),
        input_(input),
        stages_(*input.nest.winograd),
        root_(*input.nest.root),
        registers_(WinogradRegisters(input.tile, input.target)) {}

  absl::Status Run() {
    SMELT_ASSIGN_OR_RETURN(accumulators_, schedule_.CacheWrite(stages_.product->name, ir::Scope::kLocal));
    SMELT_RETURN_IF_ERROR(SplitRoot());
    SMELT_RETURN_IF_ERROR(Output());
    SMELT_RETURN_IF_ERROR(Product());
    SMELT_RETURN_IF_ERROR(Input());
    return Weights();
  }

 private:
  // Pieces of work, register tiles of features, tiles, vectors of features, and then, unrolled, a tile of the output.
  absl::Status SplitRoot() {
    const std::string& root = root_.name;
    SMELT_ASSIGN_OR_RETURN(std::vector<std::string> loops,
                           LoopsOfProducer(schedule_, root, input_.nest.attached[0].match));
    std::vector<std::string> outer;
    std::vector<std::string> inner(std::size(kTileAxes));
    for (size_t i = 0; i < std::size(kTileAxes); ++i) {
      inner[i] = loops[kTileAxes[i]];
      if (inner[i].empty() || input_.tile[i] >= stages_.extents[i]) continue;
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root, inner[i], input_.tile[i]));
      outer.push_back(split.first);
      inner[i] = split.second;
    }
    if (outer.empty()) {
      // All is one piece; a loop of one iteration holds it.
      const std::string first = schedule_.Loops(root)[0];
      SMELT_ASSIGN_OR_RETURN(const int64_t extent, schedule_.Extent(root, first));
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root, first, extent));
      outer.push_back(split.first);
      for (std::vector<std::string>* names : {&inner, &loops}) {
        std::replace(names->begin(), names->end(), first, split.second);
      }
    }
    std::vector<std::string> order = outer;
    std::string features = inner[3];
    int64_t width = std::min(input_.tile[3], stages_.extents[3]);
    if (width > registers_.width()) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(root, features, registers_.width()));
      order.push_back(split.first);
      features = split.second;
      width = registers_.width();
    }
    const size_t product = order.size();  // the loop before it holds the products
    for (int i = 0; i < 3; ++i) {
      if (!inner[i].empty()) order.push_back(inner[i]);
    }
    std::string lanes;
    if (!features.empty()) {
      SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule_, root, features, width, registers_.lanes));
      if (!split.first.empty()) order.push_back(split.first);
      lanes = split.second;
    }
    const size_t tile = order.size();
    for (int axis : {kRow, kColumn}) {
      if (!loops[axis].empty()) order.push_back(loops[axis]);
    }
    if (!lanes.empty()) order.push_back(lanes);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, root, order));
    for (int axis : {kRow, kColumn}) {
      if (!loops[axis].empty()) SMELT_RETURN_IF_ERROR(schedule_.Unroll(root, loops[axis]));
    }
    std::string pieces = outer[0];
    for (size_t i = 1; i < outer.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(pieces, schedule_.Fuse(root, pieces, outer[i]));
    }
    piece_loop_ = pieces;
    product_loop_ = product == outer.size() ? pieces : order[product - 1];
    tile_loop_ = tile == outer.size() ? pieces : order[tile - 1];
    return ParallelizeOutermost(schedule_, root, {pieces}, input_.nest.Work());
  }

  // Vectors of features in the innermost loop, tiles of (m+2)^2 or m^2 unrolled around it. The loop over vectors, where
  // there are several, goes to the end of `outer` and holds what the transform needs.
  absl::Status Transform(const std::string& stage, std::vector<std::string> outer, const std::vector<int>& unrolled,
                         int features, int64_t extent, std::string* holds) {
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule_, stage, AxisName(features), extent, registers_.lanes));
    if (!split.first.empty()) outer.push_back(split.first);
    if (holds != nullptr) *holds = outer.back();
    for (int axis : unrolled) outer.push_back(AxisName(axis));
    outer.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, stage, outer));
    for (int axis : unrolled) SMELT_RETURN_IF_ERROR(schedule_.Unroll(stage, AxisName(axis)));
    return absl::OkStatus();
  }

  static std::vector<std::string> TileLoops() { return {AxisName(kImage), AxisName(kTileRow), AxisName(kTileColumn)}; }

  absl::Status Output() {
    for (const te::OperationRef& stage : {stages_.output, stages_.output_half}) {
      SMELT_RETURN_IF_ERROR(schedule_.SetScope(stage->name, ir::Scope::kLocal));
      SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(stage->name, root_.name, tile_loop_));
      SMELT_RETURN_IF_ERROR(
          Transform(stage->name, TileLoops(), {kRow, kColumn}, kFeature, stages_.extents[3], nullptr));
    }
    return absl::OkStatus();
  }

  bool InRegisters(int axis) const { return axis == registers_.row_axis || axis == registers_.plane_axis; }

  // Loops over register tiles, then those within one.
  absl::Status Product() {
    const std::string& product = stages_.product->name;
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(product, ir::Scope::kThread));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(product, root_.name, product_loop_));
    std::vector<std::string> order{AxisName(kRow), AxisName(kColumn)};
    std::vector<std::string> within;
    for (int axis : {kImage, kTileRow, kTileColumn}) {
      if (!InRegisters(axis)) {
        order.push_back(AxisName(axis));
        continue;
      }
      const int64_t rows = axis == registers_.row_axis ? registers_.rows : registers_.planes;
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(product, AxisName(axis), rows));
      order.push_back(split.first);
      within.push_back(split.second);
    }
    const std::string hold = order.back();
    SMELT_RETURN_IF_ERROR(RegisterLoops(product, order, within));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(accumulators_, product, hold));
    order = {AxisName(kRow), AxisName(kColumn)};
    within.clear();
    for (int axis : {kImage, kTileRow, kTileColumn}) (InRegisters(axis) ? within : order).push_back(AxisName(axis));
    order.push_back(ReduceName(0));
    return RegisterLoops(accumulators_, order, within);
  }

  absl::Status RegisterLoops(const std::string& stage, std::vector<std::string> order,
                             std::vector<std::string> within) {
    SMELT_ASSIGN_OR_RETURN(auto split,
                           VectorizeLoop(schedule_, stage, AxisName(kFeature), stages_.extents[3], registers_.lanes));
    if (!split.first.empty()) within.push_back(split.first);
    order.insert(order.end(), within.begin(), within.end());
    order.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, stage, order));
    for (const std::string& loop : within) SMELT_RETURN_IF_ERROR(schedule_.Unroll(stage, loop));
    return absl::OkStatus();
  }

  absl::Status Input() {
    const std::string& input = stages_.input->name;
    const int64_t features = stages_.input->shape[kFeature];
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(input, ir::Scope::kThread));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(input, root_.name, piece_loop_));
    std::string hold;
    SMELT_RETURN_IF_ERROR(Transform(input, TileLoops(), {kRow, kColumn}, kFeature, features, &hold));
    const std::string& half = stages_.input_half->name;
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(half, ir::Scope::kLocal));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(half, input, hold));
    SMELT_RETURN_IF_ERROR(Transform(half, TileLoops(), {kColumn, kRow}, kFeature, features, nullptr));
    const std::string& border = stages_.border->name;
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(border, ir::Scope::kThread));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(border, root_.name, piece_loop_));
    return Transform(border, {AxisName(0), AxisName(1), AxisName(2)}, {}, 3, features, nullptr);
  }

  // Register tiles of output features lie apart, so that a product reads its weights from one end to the other.
  absl::Status Weights() {
    const std::string& weights = stages_.weights->name;
    const int64_t outputs = stages_.extents[3];
    std::vector<std::string> order{AxisName(2)};
    std::string features = AxisName(3);
    int64_t width = outputs;
    if (outputs > registers_.width()) {
      SMELT_RETURN_IF_ERROR(
          schedule_.TransformLayout(weights, {{3, registers_.width()}, {0, 1}, {1, 1}, {2, 1}, {3, 0}}));
      SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(weights, features, registers_.width()));
      SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, weights, {split.first, AxisName(2), split.second}));
      SMELT_ASSIGN_OR_RETURN(order[0], schedule_.Fuse(weights, split.first, AxisName(2)));
      features = split.second;
      width = registers_.width();
    }
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule_, weights, features, width, registers_.lanes));
    if (!split.first.empty()) order.push_back(split.first);
    const std::string hold = order.back();
    for (int axis : {0, 1}) order.push_back(AxisName(axis));
    order.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule_, weights, order));
    for (int axis : {0, 1}) SMELT_RETURN_IF_ERROR(schedule_.Unroll(weights, AxisName(axis)));
    const std::string& half = stages_.weights_half->name;
    SMELT_RETURN_IF_ERROR(schedule_.SetScope(half, ir::Scope::kLocal));
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(half, weights, hold));
    SMELT_RETURN_IF_ERROR(Transform(half, {AxisName(2)}, {1, 0}, 3, outputs, nullptr));
    // A phase of its own however little work it is: whoever knows the weights leaves it out of a call.
    return schedule_.Parallel(weights, order[0]);
  }

  Schedule& schedule_;
  const NestInput& input_;
  const WinogradStages& stages_;
  const te::Operation& root_;
  const RegisterTile registers_;
  std::string accumulators_;  // the stage that sums
  std::string piece_loop_, product_loop_, tile_loop_;
};

}  // namespace

absl::Status ScheduleWinograd(Schedule& schedule, const NestInput& input) {
  return WinogradNest(schedule, input).Run();
}

}  // namespace smelt::kernels::nests

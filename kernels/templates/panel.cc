#include "kernels/templates/panel.h"

#include <algorithm>

#include "base/status_macros.h"
#include "kernels/schedule/state.h"
#include "kernels/te/hlo/pairs.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/parallel_pieces.h"

namespace smelt::kernels::nests {
namespace {

using schedule::Schedule;

// Passes over the rows from which on packing a matrix that lies along the vectors pays, one of these each of whose
// lines is on a page of its own or that is packed but once for all calls, and one that does not lie so.
constexpr double kPackedPasses = 5;
constexpr double kFarPasses = 2;
constexpr double kGatheredPasses = 2;
// Terms of a sum below which a panel is not worth its copy.
constexpr double kShortSum = 8;
// Taps of a depthwise window whose picture is computed beside it.
constexpr double kWindowTaps = 32;
// Elements that one iteration of the packing loop copies, about.
constexpr int64_t kPieceElements = 4096;

// The operand's dimensions other than `along`: those that stay put while a register tile sums, then those of the sum in
// the order of its loops, then those that vectors run over before they run over `along`: an axis of the sum may be two
// dimensions of an operand.
std::vector<int> DimensionsBySum(const te::Operation& sum, const Access& access, int along,
                                 const RegisterTile& registers) {
  std::vector<std::pair<int, int>> order;
  for (int d = 0; d < static_cast<int>(access.indices.size()); ++d) {
    if (d == along) continue;
    int last = -1;
    for (size_t r = 0; r < sum.reduce_axes.size(); ++r) {
      if (te::Mentions(access.indices[d], sum.reduce_axes[r].var)) last = static_cast<int>(r);
    }
    if (te::Mentions(access.indices[d], sum.axes[registers.vector_axis].var))
      last = static_cast<int>(sum.reduce_axes.size());
    order.emplace_back(last, d);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> dimensions;
  for (const auto& [last, d] : order) dimensions.push_back(d);
  return dimensions;
}

int DimensionAlong(const te::Operation& sum, const Access& access, const RegisterTile& registers) {
  int along = -1;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (te::Mentions(access.indices[d], sum.axes[registers.vector_axis].var)) along = static_cast<int>(d);
  }
  return along;
}

// A divisor of the extent that makes pieces of about kPieceElements elements, or smaller ones where threads would not
// get equal numbers of those.
int64_t RowsOfPiece(std::vector<TileLoop> loops, const TileLoop& rows, int64_t run, int threads) {
  int64_t best = 1;
  double best_balance = 0;
  for (int64_t tile = std::clamp<int64_t>(kPieceElements / run, 1, rows.extent); tile >= 1; --tile) {
    if (rows.extent % tile != 0) continue;
    std::vector<TileLoop> pieces = loops;
    pieces.push_back({rows.axis, rows.extent, tile, ""});
    const double balance = PieceBalance(std::move(pieces), threads);
    if (threads <= 1 || balance >= kBalanced) return tile;
    if (balance > best_balance) {
      best = tile;
      best_balance = balance;
    }
  }
  return best;
}

// Whether an operation reads its operands in the order in which its own results lie: not, say, weights of a transposed
// convolution whose input features lie inside of its output features. On a Zen 4 the gradient of a strided convolution,
// 8 x 4 x 4 x 256 from 512 features, takes 3.1 ms where their vectors are gathered by turns, and 0.6 one after another.
bool ReadsAlong(const te::OperationRef& operation) {
  const std::vector<Access> reads = DirectReads(operation);
  return std::all_of(reads.begin(), reads.end(), [&](const Access& read) {
    const std::optional<int64_t> step = Stride(read, operation->axes.back().var);
    return step && (*step == 0 || *step == 1);
  });
}

// Loops of the packing stage: runs of the operand's rows outside, then the sum's dimensions, the strip's vectors
// inside. `threads`: 0 where the stage is computed at a loop of another.
absl::Status ScheduleCopy(Schedule& schedule, const std::string& stage, const Panel& panel,
                          const RegisterTile& registers, int threads, const machine::Machine& target) {
  const te::Operation& sum = *panel.sum;
  const Access& access = *panel.access;
  const std::vector<int64_t>& shape = access.tensor->shape;
  const int along = DimensionAlong(sum, access, registers);
  const std::vector<int> dimensions = DimensionsBySum(sum, access, along, registers);
  const bool contiguous =
      along == static_cast<int>(shape.size()) - 1 && (panel.kind == Panel::Kind::kCopied || ReadsAlong(access.tensor));
  const int64_t width = registers.width();
  int64_t run =
      std::min(shape[along], contiguous ? std::max(kRunVectors * registers.lanes / width, int64_t{1}) * width : width);
  std::vector<TileLoop> outer;
  std::string inner = AxisName(along);
  if (run < shape[along]) {
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, inner, run));
    outer.push_back({along, shape[along], run, split.first});
    inner = split.second;
  }
  std::vector<std::string> order;
  std::string rows;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int d = dimensions[i];
    TileLoop loop{d, shape[d], 1, AxisName(d)};
    if (i + 1 == dimensions.size() && threads > 0) {
      loop.tile = RowsOfPiece(outer, loop, run, threads);
      if (loop.tile > 1) {
        SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, loop.loop, loop.tile));
        loop.loop = split.first;
        order.push_back(split.second);
      }
    }
    // Where no thread takes a piece of them, all rows are inside.
    if (i + 1 == dimensions.size() && threads == 0) {
      order.push_back(loop.loop);
    } else {
      outer.push_back(loop);
    }
    rows = order.empty() ? loop.loop : order.back();
  }
  SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, stage, inner, run, registers.lanes));
  if (!split.first.empty() && contiguous) {
    SMELT_RETURN_IF_ERROR(schedule.Unroll(stage, split.first));
    order.push_back(split.first);
  } else if (!split.first.empty()) {
    // A vector gathers as many rows as it has lanes; those of a whole strip, a power of two apart, would drive each
    // other out of the nearest cache before their lines are used up.
    order.insert(order.begin(), split.first);
  }
  order.push_back(split.second);
  for (size_t i = outer.size(); i-- > 0;) order.insert(order.begin(), outer[i].loop);
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
  if (contiguous && !rows.empty() && panel.kind == Panel::Kind::kCopied) {
    SMELT_RETURN_IF_ERROR(AskForRows(schedule, access, stage, rows, target));
  }
  if (outer.empty() || threads == 0) return absl::OkStatus();
  // A copy moves two words where an operation of a sum takes two flops.
  return ParallelizePieces(schedule, stage, outer, threads, 8 * Elements(*access.tensor)).status();
}

// The dimension that the last axis of the sum runs over, where whole blocks of that axis are whole in it; else -1.
int DimensionOfBlocks(const te::Operation& sum, const Access& access, int64_t block) {
  const te::IterVar& last = sum.reduce_axes.back();
  if (block == 0 || last.extent % block != 0) return -1;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (access.indices[d].Same(last.var)) return static_cast<int>(d);
  }
  return -1;
}

// `block`: of the last axis of the sum, whose strips lie together; 0: there are no blocks.
absl::Status LayOut(Schedule& schedule, const std::string& stage, const te::Operation& sum, const Access& access,
                    const RegisterTile& registers, bool strips, int64_t block) {
  const int along = DimensionAlong(sum, access, registers);
  const int blocked = strips ? DimensionOfBlocks(sum, access, block) : -1;
  std::vector<std::pair<int, int64_t>> layout;
  if (strips && blocked < 0) layout.emplace_back(along, registers.width());
  for (int d : DimensionsBySum(sum, access, along, registers)) layout.emplace_back(d, d == blocked ? block : 1);
  if (blocked >= 0) layout.insert(layout.end(), {{along, registers.width()}, {blocked, 0}});
  layout.emplace_back(along, strips ? 0 : 1);
  bool as_it_is = !strips;
  for (size_t d = 0; d < layout.size(); ++d) as_it_is = as_it_is && layout[d].first == static_cast<int>(d);
  return as_it_is ? absl::OkStatus() : schedule.TransformLayout(stage, layout);
}

}  // namespace

bool IsPrivate(const Structure& structure, const Access& access) {
  const Nest* of_tensor = nullptr;
  for (const Nest& nest : structure.nests) {
    if (nest.root == access.tensor) of_tensor = &nest;
    for (const Access& other : nest.accesses) {
      if (other.tensor == access.tensor && other.reader != access.reader) return false;
    }
  }
  if (of_tensor == nullptr || of_tensor->kind != NestKind::kInjective || !of_tensor->attached.empty()) return false;
  return std::none_of(structure.graph.outputs.begin(), structure.graph.outputs.end(),
                      [&](const te::Tensor& output) { return output.op == access.tensor; });
}

Panel PanelOf(const Structure& structure, const Nest& nest, const te::Operation& sum, const RegisterTile& registers,
              const KnownInputs& known, const machine::Machine& target) {
  const Panel none;
  if (!IsContraction(sum) || registers.vector_axis < 0 || WidthVectorsOf(nest)) return none;
  const Access* access = LargestVectorAccess(nest, sum, registers.vector_axis);
  if (access == nullptr) return none;
  for (const Access& other : nest.accesses) {
    // Read twice in different ways: one copy would not serve both, though distances within an array do read both of it.
    if (sum.tag != te::kPairsTag && &other != access && other.reader.get() == &sum && other.tensor == access->tensor)
      return none;
  }
  if (SumsForTaps(nest)) return none;
  const double reuse = Reuse(sum, *access);
  const double rows = static_cast<double>(registers.rows);
  if (IsPrivate(structure, *access)) {
    // The picture of a small depthwise window, though nothing shares it: near its window, what was computed for it need
    // not go through memory, and pixels whose channels fill whole pages do not meet in the same sets of the cache. A
    // large window would have a tile compute its lines several times.
    const bool windowed = sum.tag == "convolution" && IsDepthwise(nest) && Steps(sum) <= kWindowTaps * Elements(sum);
    if (windowed) return {Panel::Kind::kWindow, &sum, access};
  }
  // Strips that began in the middle of a register tile would cut its vectors.
  const te::Expr& position = access->indices[DimensionAlong(sum, *access, registers)];
  for (size_t a = 0; a < sum.axes.size(); ++a) {
    if (static_cast<int>(a) == registers.vector_axis) continue;
    const std::optional<int64_t> step = Coefficient(position, sum.axes[a].var);
    if (!step || *step % registers.width() != 0) return none;
  }
  if (reuse >= rows && IsPrivate(structure, *access)) {
    // Nothing shares the taps of a depthwise convolution whose vectors run over positions: a picture that is transposed
    // for it goes block by block, in loops of its own.
    if (sum.tag == "convolution" && reuse <= 1) return none;
    return {Panel::Kind::kComputed, &sum, access};
  }
  const std::optional<int64_t> stride = Stride(*access, sum.axes[registers.vector_axis].var);
  // What does not lie along the vectors is gathered on every pass over the rows, or once.
  const bool along = stride && *stride == 1;
  // Depthwise: every read runs along the vectors and nothing is shared.
  const bool cheap = LinesAreFar(sum, *access) || IsKnown(*access->tensor, known);
  // A copy would be of all that data may point at.
  if (IsPositionData(*access)) return none;
  const double passes = !along ? kGatheredPasses : cheap ? kFarPasses : kPackedPasses;
  if (reuse < passes * rows) return none;
  if (!IsKnown(*access->tensor, known) && RereadsInPlace(nest, sum, *access, registers.vector_axis, target))
    return none;
  if (Steps(sum) / Elements(sum) < kShortSum) return none;
  // Already as narrow as a panel.
  if (along && access->tensor->shape.back() <= registers.width()) return none;
  return {Panel::Kind::kCopied, &sum, access};
}

std::vector<Panel> PanelsOf(const Structure& structure, const Nest& nest, const std::vector<const te::Operation*>& sums,
                            const RegisterTile& registers, const KnownInputs& known, const machine::Machine& target) {
  std::vector<Panel> panels;
  for (const te::Operation* sum : sums) {
    const Panel panel = PanelOf(structure, nest, *sum, registers, known, target);
    if (panel.kind != Panel::Kind::kNone) panels.push_back(panel);
  }
  return panels;
}

bool IsKnown(const te::Operation& operand, const KnownInputs& known) {
  absl::flat_hash_set<const te::Operation*> seen{&operand};
  std::vector<const te::Operation*> open{&operand};
  while (!open.empty()) {
    const te::Operation* operation = open.back();
    open.pop_back();
    if (operation->kind == te::OperationKind::kPlaceholder && !known.contains(operation)) return false;
    for (const te::OperationRef& input : operation->Inputs()) {
      if (seen.insert(input.get()).second) open.push_back(input.get());
    }
  }
  return true;
}

bool PiecesPackTheirOwn(const Nest& nest, const std::vector<Panel>& panels, const std::vector<int64_t>& tile,
                        const KnownInputs& known, int threads) {
  if (panels.empty()) return false;
  for (const Panel& panel : panels) {
    if (panel.kind == Panel::Kind::kWindow || IsKnown(*panel.access->tensor, known)) return false;
  }
  const std::vector<te::IterVar>& axes = nest.main->axes;
  std::vector<TileLoop> loops;
  for (size_t a = 0; a < axes.size(); ++a) {
    const TileLoop loop{static_cast<int>(a), axes[a].extent, std::min(tile[a], axes[a].extent), ""};
    if (loop.count() == 1) continue;
    const auto changing =
        std::count_if(panels.begin(), panels.end(), [&](const Panel& panel) { return panel.ChangesAlong(a); });
    if (changing == 0) continue;
    if (changing < static_cast<int64_t>(panels.size())) return false;
    loops.push_back(loop);
  }
  return !loops.empty() && PieceBalance(std::move(loops), std::max(threads, 1)) >= kBalanced;
}

absl::StatusOr<std::string> PackAtRoot(Schedule& schedule, const NestInput& input, const Panel& panel,
                                       const std::string& reader, const RegisterTile& registers, int64_t block) {
  std::string stage = panel.access->tensor->name;
  if (panel.kind == Panel::Kind::kComputed) {
    input.placed->insert(panel.access->tensor.get());
  } else {
    if (!schedule::IsRead(schedule.state(), reader, stage)) return "";
    SMELT_ASSIGN_OR_RETURN(stage, schedule.CacheRead(stage, ir::Scope::kShared, {reader}));
  }
  const int64_t extent = panel.sum->axes[registers.vector_axis].extent;
  SMELT_RETURN_IF_ERROR(
      LayOut(schedule, stage, *panel.sum, *panel.access, registers, /*strips=*/extent > registers.width(), block));
  SMELT_RETURN_IF_ERROR(
      ScheduleCopy(schedule, stage, panel, registers, std::max(input.target.threads, 1), input.target));
  return stage;
}

absl::Status PackAt(Schedule& schedule, const NestInput& input, const Panel& panel, const std::string& reader,
                    const std::string& consumer, const std::string& loop, int64_t columns,
                    const RegisterTile& registers) {
  std::string stage = panel.access->tensor->name;
  if (panel.kind == Panel::Kind::kCopied) {
    if (!schedule::IsRead(schedule.state(), reader, stage)) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(stage, schedule.CacheRead(stage, ir::Scope::kThread, {reader}));
  } else {
    SMELT_RETURN_IF_ERROR(schedule.SetScope(stage, ir::Scope::kThread));
    input.placed->insert(panel.access->tensor.get());
  }
  SMELT_RETURN_IF_ERROR(schedule.ComputeAt(stage, consumer, loop));
  SMELT_RETURN_IF_ERROR(LayOut(schedule, stage, *panel.sum, *panel.access, registers,
                               /*strips=*/columns > registers.width(), /*block=*/0));
  return ScheduleCopy(schedule, stage, panel, registers, /*threads=*/0, input.target);
}

}  // namespace smelt::kernels::nests

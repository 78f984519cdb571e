// The templates' choices (kernels/templates), read off as decisions.
#include <algorithm>
#include <numeric>

#include "base/ceil_div.h"
#include "kernels/config/decisions.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/shared_lines.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::config {
namespace {

// Pieces a thread gets at least, so that no thread waits long for another.
constexpr int64_t kPiecesAThread = 3;
// Rows of a matrix that streams by, added at once.
constexpr int64_t kRowsAtOnce = 8;

class Usual {
 public:
  Usual(const MainNest& nest, const machine::Machine& target) : nest_(nest), target_(target) {}

  Decisions Run() {
    tile_ = nests::PreferredTiles(nest_.nest(), target_).front();
    decisions_.axes.resize(nest_.axes.size());
    decisions_.reduces.resize(nest_.reduces.size());
    decisions_.packing.assign(nest_.operands.size(), Packing::kNone);
    decisions_.tile_order.resize(nest_.axes.size());
    std::iota(decisions_.tile_order.begin(), decisions_.tile_order.end(), 0);
    decisions_.pass_order = decisions_.tile_order;
    decisions_.sum_order.resize(nest_.reduces.size());
    std::iota(decisions_.sum_order.begin(), decisions_.sum_order.end(), 0);
    for (size_t k = 0; k < nest_.reduces.size(); ++k) {
      decisions_.reduces[k].steps = nest_.sums[0]->reduce_axes[nest_.reduces[k]].extent;
    }
    if (nest_.nest().kind == nests::NestKind::kTiled) {
      Tiled();
    } else {
      Plain();
    }
    ChooseParallel();
    return std::move(decisions_);
  }

 private:
  void SetAxis(size_t a, int64_t tile, int64_t registers) {
    const int64_t extent = nest_.axes[a].extent;
    tile = std::clamp<int64_t>(tile, 1, extent);
    registers = std::clamp<int64_t>(registers, 1, tile);
    const int64_t passes = CeilDiv(tile, registers);
    decisions_.axes[a] = {CeilDiv(extent, passes * registers), passes, registers};
  }

  void Plain() {
    const bool injective = nest_.nest().kind == nests::NestKind::kInjective;
    const nests::SharedLines shared = injective ? nests::SharedLinesOf(nest_.nest(), target_) : nests::SharedLines();
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      int64_t tile = 1;
      for (int position : nest_.axes[a].positions) tile *= tile_[position];
      const bool vector = !nest_.vectors.empty() && nest_.vectors[0].axis == static_cast<int>(a);
      const bool together = shared && nest_.axes[a].positions == std::vector<int>{shared.axis};
      SetAxis(a, tile, vector ? nest_.lanes : together ? shared.lines : 1);
    }
  }

  void Tiled() {
    const nests::Nest& nest = nest_.nest();
    const nests::RegisterTile registers = nests::ChooseRegisterTile(nest, tile_, target_);
    const nests::TiledForm form = nests::FormOf(nest, target_);
    int vector = -1;
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      const int position = nest_.axes[a].position();
      int64_t rows = 1;
      if (position == registers.vector_axis) {
        rows = registers.width();
        vector = static_cast<int>(a);
      } else if (position == registers.row_axis) {
        rows = registers.rows;
      } else if (position == registers.plane_axis) {
        rows = registers.planes;
      }
      SetAxis(a, tile_[position], rows);
    }
    for (size_t v = 0; v < nest_.vectors.size(); ++v) {
      const bool along_sum = form == nests::TiledForm::kDots || vector < 0;
      if (nest_.vectors[v].axis == (along_sum ? -1 : vector)) decisions_.vectors = static_cast<int>(v);
    }
    Order(vector, registers.line_axis);
    Sums(form, registers);
    const std::vector<nests::Panel> panels =
        nests::PanelsOf(nest_.structure, nest, nest_.sums, registers, /*known=*/{}, target_);
    const bool by_pieces = form == nests::TiledForm::kRegisters &&
                           nests::PiecesPackTheirOwn(nest, panels, tile_, /*known=*/{}, target_.threads);
    if (by_pieces) ShareOut(panels[0]);
    const bool streams = nests::SharesAStream(nest, registers.vector_axis, target_);
    for (const nests::Panel& panel : panels) {
      if (streams) break;  // it is read once as it lies
      for (size_t o = 0; o < nest_.operands.size(); ++o) {
        if (nest_.operands[o].access != panel.access) continue;
        const bool near = panel.kind == nests::Panel::Kind::kWindow || by_pieces ||
                          (form == nests::TiledForm::kBlocked && decisions_.Blocks() > 1 && UsedByOneTile(panel));
        decisions_.packing[o] = near ? Packing::kTile : Packing::kRoot;
        decisions_.packed_run = nests::kRunVectors * nest_.lanes;
      }
    }
    // Vectors along the width of a picture want it stored so.
    if (const std::optional<nests::WidthVectors> width = nests::WidthVectorsOf(nest)) {
      for (size_t o = 0; o < nest_.operands.size(); ++o) {
        if (nest_.operands[o].access->tensor == width->input) decisions_.packing[o] = Packing::kRoot;
      }
    }
  }

  // The vectors' tiles outside where rows share an operand; within a tile they are innermost, but for a line that
  // register tiles move along.
  void Order(int vector, int line_position) {
    const auto move = [](std::vector<int64_t>& order, int64_t axis, bool front) {
      order.erase(std::find(order.begin(), order.end(), axis));
      order.insert(front ? order.begin() : order.end(), axis);
    };
    if (vector < 0) return;
    const bool shared = nests::IsContraction(*nest_.domain) && !nests::IsDepthwise(nest_.nest());
    move(decisions_.tile_order, vector, shared);
    move(decisions_.pass_order, vector, false);
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      if (line_position >= 0 && nest_.axes[a].position() == line_position)
        move(decisions_.pass_order, static_cast<int64_t>(a), false);
    }
  }

  // Makes the loops over parts of the panel, and no others, the parallel loop.
  void ShareOut(const nests::Panel& panel) {
    const auto over_panel = [&](int64_t a) {
      return decisions_.axes[a].tiles > 1 && panel.ChangesAlong(nest_.axes[a].position());
    };
    std::vector<int64_t>& order = decisions_.tile_order;
    decisions_.parallel = std::stable_partition(order.begin(), order.end(), over_panel) - order.begin();
  }

  // Whether no two tiles read the same part of the operand.
  bool UsedByOneTile(const nests::Panel& panel) const {
    const int vector = decisions_.VectorAxis(nest_);
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      if (static_cast<int>(a) == vector || decisions_.axes[a].tiles == 1) continue;
      if (!panel.ChangesAlong(nest_.axes[a].position())) return false;
    }
    return true;
  }

  void Sums(nests::TiledForm form, const nests::RegisterTile& registers) {
    if (decisions_.reduces.empty()) return;
    SumSplit& last = decisions_.reduces.back();
    const int64_t extent = last.steps;
    if (form == nests::TiledForm::kStreamed && extent > kRowsAtOnce) {
      last = {extent / kRowsAtOnce, 1, kRowsAtOnce};
      return;
    }
    if (form == nests::TiledForm::kBlocked) {
      const int64_t block = nests::LongestEvenBlock(extent, nests::SumBlock(nest_.nest(), tile_, target_));
      const int64_t steps = nests::SumUnroll(registers, block);
      last = {extent / block, block / steps, steps};
      // The taps of a window are blocks by themselves.
      for (SumSplit& split : decisions_.reduces) {
        if (&split != &last) split = {split.steps, 1, 1};
      }
      return;
    }
    const bool all = nests::UnrollsAll(nest_.nest(), registers);
    for (SumSplit& split : decisions_.reduces) {
      const bool is_last = &split == &last;
      if (all || (is_last && split.steps <= nests::MostUnrolled(nest_.nest()))) {
        split = {1, 1, split.steps};
      } else if (is_last && nests::IsContraction(*nest_.domain)) {
        const int64_t steps = nests::SumUnroll(registers, split.steps);
        split = {1, split.steps / steps, steps};
      }
    }
  }

  // The fewest loops that give every thread enough pieces, where they are not chosen yet.
  void ChooseParallel() {
    if (decisions_.parallel > 0) return;
    int64_t pieces = 1;
    const size_t most = nest_.row_depth > 0 ? 1 : decisions_.tile_order.size();
    while (static_cast<size_t>(decisions_.parallel) < most) {
      if (decisions_.parallel > 0 && (pieces >= kPiecesAThread * target_.threads || pieces == target_.threads)) break;
      pieces *= decisions_.axes[decisions_.tile_order[decisions_.parallel]].tiles;
      ++decisions_.parallel;
    }
  }

  const MainNest& nest_;
  const machine::Machine& target_;
  std::vector<int64_t> tile_;
  Decisions decisions_;
};

}  // namespace

Decisions UsualDecisions(const MainNest& nest, const machine::Machine& target) { return Usual(nest, target).Run(); }

}  // namespace smelt::kernels::config

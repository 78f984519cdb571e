// The schedule that decisions make:
//
//   parallel loop over tiles             packed operands of a tile here, or before, in a phase of their own
//     other loops over tiles
//       sums of the tile                 where the sum is cut into blocks, or the epilogue runs over whole tiles
//       loops over register tiles
//         accumulators = 0
//         for the sum: accumulators += ...              unrolled over rows and vectors
//         root[...] = epilogue(accumulators)
#include "kernels/config/apply.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/config/master.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"

namespace smelt::kernels::config {
namespace {

using schedule::Schedule;

class MainSchedule {
 public:
  MainSchedule(Schedule& schedule, const MainNest& nest, const Decisions& decisions, const machine::Machine& target,
               absl::flat_hash_set<const te::Operation*>* placed)
      : schedule_(schedule),
        nest_(nest),
        decisions_(decisions),
        target_(target),
        placed_(placed),
        stage_(nest.root().name),
        vector_(decisions.VectorAxis(nest)),
        lanes_(decisions.Lanes(nest)),
        along_sum_(!nest.vectors.empty() && vector_ < 0),
        in_tile_(!along_sum_ && (decisions.Blocks() > 1 || (decisions.epilogue_in_tile && AnyPasses()))) {}

  absl::Status Run() {
    SMELT_RETURN_IF_ERROR(MakeSums());
    SMELT_RETURN_IF_ERROR(ShapeRoot());
    for (size_t i = sums_.size(); i-- > 0;) SMELT_RETURN_IF_ERROR(PlaceSum(&sums_[i]));
    SMELT_RETURN_IF_ERROR(PlaceRows());
    for (size_t o = 0; o < nest_.operands.size(); ++o) {
      for (const SumStages& sum : sums_) {
        if (sum.sum != nest_.operands[o].sum || along_sum_) continue;
        SMELT_RETURN_IF_ERROR(PackOperand(schedule_, nest_, decisions_, o, sum, loops_, target_, placed_));
      }
    }
    return parallel_.empty() ? absl::OkStatus() : schedule_.Parallel(stage_, parallel_);
  }

 private:
  bool AnyPasses() const {
    return std::any_of(decisions_.axes.begin(), decisions_.axes.end(),
                       [](const AxisSplit& split) { return split.passes > 1; });
  }

  // Stages for the sums, while loops are as they were.
  absl::Status MakeSums() {
    for (const te::Operation* sum : nest_.sums) {
      SumStages stages{.sum = sum, .stage = sum->name, .accumulators = sum->name};
      if (along_sum_ && sum == &nest_.root()) continue;
      const ir::Scope& scope = in_tile_ || along_sum_ ? ir::Scope::kThread : ir::Scope::kLocal;
      if (sum == &nest_.root()) {
        SMELT_ASSIGN_OR_RETURN(stages.stage, schedule_.CacheWrite(sum->name, scope));
      } else {
        SMELT_RETURN_IF_ERROR(schedule_.SetScope(sum->name, scope));
      }
      stages.accumulators = stages.stage;
      if (in_tile_ && !(decisions_.Blocks() > 1 && nest_.SharesSum(*sum)) && AnyPasses()) {
        SMELT_ASSIGN_OR_RETURN(stages.accumulators, schedule_.CacheWrite(stages.stage, ir::Scope::kLocal));
      }
      sums_.push_back(std::move(stages));
    }
    return absl::OkStatus();
  }

  // One loop of the root for each axis of the nest.
  absl::StatusOr<std::vector<std::string>> RootLoops() {
    std::vector<std::string> loops;
    if (nest_.nest().kind == nests::NestKind::kTiled && nest_.domain != &nest_.root()) {
      SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> of_domain,
                             nests::LoopsOfProducer(schedule_, stage_, nest_.nest().attached[0].match));
      for (const NestAxis& axis : nest_.axes) loops.push_back(of_domain[axis.position()]);
      return loops;
    }
    for (const NestAxis& axis : nest_.axes) {
      std::string loop = nests::AxisName(axis.position());
      for (size_t i = 1; i < axis.positions.size(); ++i) {
        SMELT_ASSIGN_OR_RETURN(loop, schedule_.Fuse(stage_, loop, nests::AxisName(axis.positions[i])));
      }
      loops.push_back(loop);
    }
    return loops;
  }

  // An axis of one stage in its parts; empty names for parts of one iteration.
  struct Parts {
    std::string tile, pass, inner;
  };
  absl::StatusOr<Parts> SplitAxis(const std::string& stage, std::string loop, size_t a, bool hold) {
    const AxisSplit& split = decisions_.axes[a];
    const int64_t extent = nest_.axes[a].extent;
    const int64_t tile = std::min(split.tile(), extent);
    const bool is_vector = static_cast<int>(a) == vector_;
    Parts parts;
    if (tile == 1 && !is_vector && extent > 1) {
      parts.tile = loop;
      return parts;
    }
    if (tile < extent || hold) {
      SMELT_ASSIGN_OR_RETURN(std::tie(parts.tile, loop), schedule_.Split(stage, loop, tile));
    }
    SMELT_ASSIGN_OR_RETURN(std::tie(parts.pass, parts.inner), SplitTile(stage, loop, a, tile));
    return parts;
  }
  absl::StatusOr<std::pair<std::string, std::string>> SplitTile(const std::string& stage, const std::string& loop,
                                                                size_t a, int64_t tile) {
    const int64_t registers = std::min(decisions_.axes[a].registers, tile);
    const bool is_vector = static_cast<int>(a) == vector_;
    if (registers == tile) return std::pair<std::string, std::string>("", loop);
    if (registers == 1 && !is_vector) return std::pair<std::string, std::string>(loop, "");
    return schedule_.Split(stage, loop, registers);
  }

  // Rows, vectors and lanes at the end of `order`, unrolled where they are registers. `inner`: the loop of each axis
  // within a register tile; that of the vectors' has `width` iterations as far as the stage's own loops say.
  absl::Status OrderRegisters(const std::string& stage, std::vector<std::string> order,
                              const std::vector<std::string>& inner, int64_t width, bool unroll, StageLoops* loops) {
    for (size_t a = 0; a < inner.size(); ++a) {
      if (inner[a].empty() || static_cast<int>(a) == vector_) continue;
      loops->rows.push_back(inner[a]);
      order.push_back(inner[a]);
    }
    if (vector_ >= 0 && !inner[vector_].empty()) {
      SMELT_ASSIGN_OR_RETURN(std::tie(loops->vectors, loops->lanes),
                             nests::VectorizeLoop(schedule_, stage, inner[vector_], width, lanes_));
      if (!loops->vectors.empty()) order.push_back(loops->vectors);
      order.push_back(loops->lanes);
    }
    SMELT_RETURN_IF_ERROR(nests::ReorderLoops(schedule_, stage, order));
    if (!unroll) return absl::OkStatus();
    for (const std::string& row : loops->rows) SMELT_RETURN_IF_ERROR(schedule_.Unroll(stage, row));
    return loops->vectors.empty() ? absl::OkStatus() : schedule_.Unroll(stage, loops->vectors);
  }

  // Loops of axes of one iteration, which no knob is about: they stand where no other loop cares.
  std::vector<std::string> Others(const std::string& stage, const std::vector<std::string>& known) const {
    std::vector<std::string> others;
    for (const std::string& loop : schedule_.Loops(stage)) {
      if (loop[0] == 'i' && std::find(known.begin(), known.end(), loop) == known.end()) others.push_back(loop);
    }
    return others;
  }

  absl::Status ShapeRoot() {
    if (nest_.axes.empty()) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(const std::vector<std::string> axis_loops, RootLoops());
    const bool holds = !sums_.empty() || nest_.row_depth > 0;
    const bool any_tiles = std::any_of(nest_.axes.begin(), nest_.axes.end(), [&](const NestAxis& axis) {
      return decisions_.axes[&axis - nest_.axes.data()].tile() < axis.extent;
    });
    std::vector<Parts> parts(nest_.axes.size());
    std::vector<std::string> inner, known;
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      // What is computed at a tile needs a loop to stand in, be it of one iteration.
      const bool row = nest_.row_depth > 0 && nest_.axes[a].position() < nest_.row_depth;
      const bool only = holds && !any_tiles && static_cast<int>(a) == std::max(vector_, 0);
      SMELT_ASSIGN_OR_RETURN(parts[a], SplitAxis(stage_, axis_loops[a], a, row || only));
      inner.push_back(parts[a].inner);
      for (const std::string* loop : {&parts[a].tile, &parts[a].pass, &parts[a].inner}) {
        if (!loop->empty()) known.push_back(*loop);
      }
    }
    std::vector<std::string> order;
    for (size_t k = 0; k < decisions_.tile_order.size(); ++k) {
      const std::string& tile = parts[decisions_.tile_order[k]].tile;
      if (tile.empty()) continue;
      loops_.tiles.push_back(tile);
      loops_.depths.push_back(k + 1);
      order.push_back(tile);
    }
    for (const std::string& other : Others(stage_, known)) order.push_back(other);
    for (int64_t a : decisions_.pass_order) {
      if (parts[a].pass.empty()) continue;
      loops_.passes.push_back(parts[a].pass);
      order.push_back(parts[a].pass);
    }
    const int64_t width = vector_ < 0 ? 1 : std::min(decisions_.axes[vector_].registers, nest_.axes[vector_].extent);
    SMELT_RETURN_IF_ERROR(
        OrderRegisters(stage_, order, inner, width, /*unroll=*/!along_sum_ && nest_.row_depth == 0, &loops_));
    return FuseParallel();
  }

  absl::Status FuseParallel() {
    const auto wanted = static_cast<size_t>(decisions_.parallel);
    size_t count = 0;
    while (count < loops_.tiles.size() && loops_.depths[count] <= wanted) ++count;
    if (count == 0) return absl::OkStatus();
    std::string fused = loops_.tiles[0];
    for (size_t i = 1; i < count; ++i) {
      SMELT_ASSIGN_OR_RETURN(fused, schedule_.Fuse(stage_, fused, loops_.tiles[i]));
    }
    loops_.tiles.erase(loops_.tiles.begin() + 1, loops_.tiles.begin() + static_cast<int64_t>(count));
    loops_.tiles[0] = fused;
    loops_.depths.erase(loops_.depths.begin(), loops_.depths.begin() + static_cast<int64_t>(count) - 1);
    parallel_ = fused;
    return absl::OkStatus();
  }

  absl::Status PlaceSum(SumStages* sum) {
    SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(sum->stage, stage_, in_tile_ ? loops_.tiles.back() : loops_.innermost()));
    if (along_sum_) {
      const std::vector<nests::Access> accesses = nests::AccessesOf(nest_.nest(), *sum->sum);
      return nests::VectorizeReduction(schedule_, *sum->sum, accesses, target_);
    }
    std::string hold;
    if (in_tile_) SMELT_RETURN_IF_ERROR(CutIntoBlocks(sum));
    if (sum->accumulators != sum->stage) {
      SMELT_RETURN_IF_ERROR(ShapeTile(*sum, &hold));
      SMELT_RETURN_IF_ERROR(schedule_.SetScope(sum->accumulators, ir::Scope::kLocal));
      SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(sum->accumulators, sum->stage, hold));
    }
    return ShapeAccumulators(sum);
  }

  // Blocks of the sum, each from nothing into accumulators of its own and then added: the error of a long sum grows
  // with the number of blocks and the length of one, not with their product.
  absl::Status CutIntoBlocks(SumStages* sum) {
    if (decisions_.Blocks() == 1 || !nest_.SharesSum(*sum->sum)) return absl::OkStatus();
    std::vector<std::string> outer, order;
    for (size_t r = 0; r < sum->sum->reduce_axes.size(); ++r) {
      std::string loop = nests::ReduceName(static_cast<int>(r));
      for (size_t k = 0; k < nest_.reduces.size(); ++k) {
        if (nest_.reduces[k] != static_cast<int>(r) || decisions_.reduces[k].blocks == 1) continue;
        SMELT_ASSIGN_OR_RETURN(auto split, schedule_.Split(sum->stage, loop, decisions_.reduces[k].block()));
        outer.push_back(split.first);
        loop = split.second;
      }
      order.push_back(loop);
    }
    order.insert(order.begin(), outer.begin(), outer.end());
    SMELT_RETURN_IF_ERROR(nests::ReorderLoops(schedule_, sum->stage, order));
    std::string blocks = outer[0];
    for (size_t i = 1; i < outer.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(blocks, schedule_.Fuse(sum->stage, blocks, outer[i]));
    }
    SMELT_ASSIGN_OR_RETURN(sum->accumulators, schedule_.Rfactor(sum->stage, blocks));
    sum->block_loop = nests::ReduceName(0);
    sum->first_axis = 1;
    return absl::OkStatus();
  }

  // The loops of a sum that lives in a tile's scratch; `hold` gets the one in which register tiles are summed.
  absl::Status ShapeTile(const SumStages& sum, std::string* hold) {
    std::vector<std::string> inner, order, known, passes(nest_.axes.size());
    if (!sum.block_loop.empty()) order.push_back(sum.block_loop);
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      const int64_t tile = std::min(decisions_.axes[a].tile(), nest_.axes[a].extent);
      SMELT_ASSIGN_OR_RETURN(auto parts, SplitTile(sum.stage, nests::AxisName(nest_.axes[a].position()), a, tile));
      passes[a] = parts.first;
      inner.push_back(parts.second);
      for (const std::string& loop : {parts.first, parts.second}) {
        if (!loop.empty()) known.push_back(loop);
      }
    }
    for (const std::string& other : Others(sum.stage, known)) order.push_back(other);
    for (int64_t a : decisions_.pass_order) {
      if (!passes[a].empty()) order.push_back(passes[a]);
    }
    *hold = order.empty() ? "" : order.back();
    StageLoops loops;
    SMELT_RETURN_IF_ERROR(StoreAlongVectors(sum.stage, 0));
    // Without passes the axis is not split, and bounds are what cuts it to the tile.
    int64_t width = 1;
    if (vector_ >= 0) width = passes[vector_].empty() ? nest_.axes[vector_].extent : decisions_.axes[vector_].registers;
    return OrderRegisters(sum.stage, order, inner, width, /*unroll=*/true, &loops);
  }

  // The loops of the accumulators of one register tile: the sum outside, rows and vectors unrolled inside.
  absl::Status ShapeAccumulators(SumStages* sum) {
    const std::string& stage = sum->accumulators;
    std::vector<std::string> steps, unrolled, inner(nest_.axes.size()), known;
    SMELT_RETURN_IF_ERROR(SplitSum(*sum, &steps, &unrolled));
    sum->step = !unrolled.empty() ? unrolled.back() : steps.empty() ? "" : steps.back();
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      if (decisions_.axes[a].registers == 1 && static_cast<int>(a) != vector_) continue;
      inner[a] = nests::AxisName(nest_.axes[a].position() + sum->first_axis);
      known.push_back(inner[a]);
    }
    std::vector<std::string> order = Others(stage, known);
    order.insert(order.end(), steps.begin(), steps.end());
    order.insert(order.end(), unrolled.begin(), unrolled.end());
    SMELT_RETURN_IF_ERROR(StoreAlongVectors(stage, sum->first_axis));
    StageLoops loops;
    const int64_t width = vector_ < 0 ? 1 : nest_.axes[vector_].extent;
    SMELT_RETURN_IF_ERROR(OrderRegisters(stage, order, inner, width, /*unroll=*/true, &loops));
    for (const std::string& loop : unrolled) SMELT_RETURN_IF_ERROR(schedule_.Unroll(stage, loop));
    return absl::OkStatus();
  }

  // The reduce loops of the stage that reads the operands: those that stay loops, and those that become code.
  absl::Status SplitSum(const SumStages& sum, std::vector<std::string>* steps, std::vector<std::string>* unrolled) {
    const bool ours = nest_.SharesSum(*sum.sum) && decisions_.reduces.size() == nest_.reduces.size();
    std::vector<bool> done(sum.sum->reduce_axes.size(), false);
    std::vector<int64_t> order = decisions_.sum_order;
    for (size_t i = 0; ours && i < order.size(); ++i) {
      const size_t k = static_cast<size_t>(order[i]);
      std::string loop = nests::ReduceName(nest_.reduces[k]);
      const SumSplit& split = decisions_.reduces[k];
      done[nest_.reduces[k]] = true;
      if (split.unrolled == 1) {
        steps->push_back(loop);
        continue;
      }
      if (split.steps > 1) {
        SMELT_ASSIGN_OR_RETURN(auto parts, schedule_.Split(sum.accumulators, loop, split.unrolled));
        steps->push_back(parts.first);
        loop = parts.second;
      }
      unrolled->push_back(loop);
    }
    for (size_t r = 0; r < done.size(); ++r) {
      if (!done[r]) steps->push_back(nests::ReduceName(static_cast<int>(r)));
    }
    return absl::OkStatus();
  }

  // Scratch in which vectors are contiguous, whatever axis they run along.
  absl::Status StoreAlongVectors(const std::string& stage, int first_axis) {
    const int rank = static_cast<int>(nest_.domain->axes.size()) + first_axis;
    if (vector_ < 0 || nest_.axes[vector_].position() + first_axis == rank - 1) return absl::OkStatus();
    const int last = nest_.axes[vector_].position() + first_axis;
    std::vector<std::pair<int, int64_t>> layout;
    for (int d = 0; d < rank; ++d) {
      if (d != last) layout.emplace_back(d, 1);
    }
    layout.emplace_back(last, 1);
    return schedule_.TransformLayout(stage, layout);
  }

  // Reductions of rows, computed once for each iteration of the loops outside of them.
  absl::Status PlaceRows() {
    const nests::Nest& nest = nest_.nest();
    if (nest_.row_depth > 0) {
      std::vector<std::string> places(nest.attached.size());
      for (size_t i = nest.attached.size(); i-- > 0;) {
        const nests::Attached& attached = nest.attached[i];
        size_t outside = 0;
        for (size_t t = 0; t < nest_.axes.size(); ++t) {
          if (nest_.axes[t].position() < attached.depth) outside = t + 1;
        }
        size_t at = 0;
        while (at + 1 < loops_.tiles.size() && loops_.depths[at] < outside) ++at;
        SMELT_RETURN_IF_ERROR(schedule_.SetScope(attached.operation->name, ir::Scope::kThread));
        places[i] = loops_.tiles[at];
        SMELT_RETURN_IF_ERROR(schedule_.ComputeAt(attached.operation->name, stage_, places[i]));
      }
      for (size_t i = 0; i < nest.attached.size(); ++i) {
        const nests::Attached& attached = nest.attached[i];
        SMELT_RETURN_IF_ERROR(nests::ScheduleSmallStage(
            schedule_, attached, nests::AccessesOf(nest, *attached.operation), target_, stage_, places[i]));
      }
    }
    const bool root_along = along_sum_ && nest_.root().IsReduction();
    if (!root_along) return absl::OkStatus();
    return nests::VectorizeReduction(schedule_, nest_.root(), nests::AccessesOf(nest, nest_.root()), target_);
  }

  Schedule& schedule_;
  const MainNest& nest_;
  const Decisions& decisions_;
  const machine::Machine& target_;
  absl::flat_hash_set<const te::Operation*>* placed_;
  const std::string& stage_;
  const int vector_;
  const int64_t lanes_;
  const bool along_sum_;
  const bool in_tile_;
  std::vector<SumStages> sums_;
  StageLoops loops_;  // of the root
  std::string parallel_;
};

}  // namespace

absl::StatusOr<schedule::Schedule> ScheduleByDecisions(const MainNest& nest, const Decisions& decisions,
                                                       const machine::Machine& target) {
  bool called = false;
  const auto main = [&](Schedule& schedule, absl::flat_hash_set<const te::Operation*>* placed) {
    called = true;
    return MainSchedule(schedule, nest, decisions, target, placed).Run();
  };
  SMELT_ASSIGN_OR_RETURN(Schedule schedule, nests::ScheduleStructure(nest.structure, main, target));
  if (!called) {
    return absl::UnimplementedError(
        absl::StrCat("stage `", nest.root().name, "`, the dominating loop nest, is computed inside of what reads it"));
  }
  return schedule;
}

}  // namespace smelt::kernels::config

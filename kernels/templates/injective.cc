// Elementwise chains and data movement: one pass over the output in its own order, vectors along its last dimension.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/nests/body_cost.h"
#include "kernels/te/hlo/position.h"
#include "kernels/te/simplify/simplifier.h"
#include "kernels/templates/shared_lines.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

// Fusing loops would bring divisions into vectors.
bool ReadsPosition(const Structure& structure) {
  return std::any_of(structure.graph.operations.begin(), structure.graph.operations.end(),
                     [](const te::OperationRef& operation) { return te::DependsOnPosition(*operation); });
}

// Whether an index follows the axis pair by pair: from pair to pair of as many, from one to its pair or from a pair to
// its one. The parts of complex numbers lie so.
bool ReadsPairs(const te::Expr& index, int64_t size, const te::IterVar& axis) {
  const bool of_ones = size == 2 * axis.extent, to_ones = 2 * size == axis.extent;
  if (!of_ones && !to_ones && (size != axis.extent || size % 2 != 0)) return false;
  te::Simplifier simplifier;
  simplifier.Bind(axis.var, {0, axis.extent - 1});
  const te::Expr at = of_ones ? te::Expr(axis.var) : te::FloorDiv(axis.var, 2);
  return simplifier.Simplify(to_ones ? index : te::FloorDiv(index, 2)).Same(simplifier.Simplify(at));
}

// The first of the trailing axes that may be fused into one: every access walks over them as over one run of memory,
// or not at all.
size_t FusibleFrom(const Nest& nest, const std::vector<int64_t>& tile) {
  const te::Operation& root = *nest.root;
  const size_t rank = root.axes.size();
  size_t first = rank - 1;
  while (first > 0) {
    const size_t candidate = first - 1;
    // A tile that cuts an inner axis keeps it a loop of its own.
    if (tile[first] != root.shape[first]) break;
    bool fits = true;
    for (const Access& access : nest.accesses) {
      bool none = true;
      for (size_t a = candidate; a < rank; ++a) {
        for (const te::Expr& index : access.indices) none = none && !te::Mentions(index, root.axes[a].var);
      }
      if (none) continue;
      const size_t run = rank - candidate;
      if (access.indices.size() < run) fits = false;
      for (size_t k = 0; fits && k < run; ++k) {
        const size_t d = access.indices.size() - run + k;
        const te::IterVar& axis = root.axes[candidate + k];
        const int64_t size = access.tensor->shape[d];
        fits = (access.indices[d].Same(axis.var) && size == axis.extent) ||
               (k + 1 == run && ReadsPairs(access.indices[d], size, axis));
      }
      if (!fits) break;
    }
    if (!fits) break;
    first = candidate;
  }
  return first;
}

}  // namespace

absl::Status ScheduleInjective(schedule::Schedule& schedule, const NestInput& input) {
  const te::Operation& root = *input.nest.root;
  const std::string& stage = root.name;
  const int rank = static_cast<int>(root.axes.size());
  if (rank == 0) return absl::OkStatus();
  const int64_t lanes = LanesOf(root, input.target);

  // Loops over the axes, trailing ones fused where memory runs on, with their extents and tiles.
  std::vector<std::string> loops;
  std::vector<int64_t> extents;
  std::vector<int64_t> tiles;
  const int transposed = TransposedAxis(input.nest, lanes);
  const bool short_run = root.shape.back() % lanes != 0 || root.shape.back() < 8 * lanes;
  int fused_from = rank - 1;
  if (short_run && transposed < 0 && !ReadsPosition(input.structure)) {
    fused_from = static_cast<int>(FusibleFrom(input.nest, input.tile));
  }
  for (int i = 0; i < rank; ++i) {
    if (i > fused_from) {
      SMELT_ASSIGN_OR_RETURN(loops.back(), schedule.Fuse(stage, loops.back(), AxisName(i)));
      extents.back() *= root.shape[i];
      tiles.back() *= input.tile[i];
    } else {
      loops.push_back(AxisName(i));
      extents.push_back(root.shape[i]);
      tiles.push_back(input.tile[i]);
    }
  }
  // Vectors go along the last axis that has several elements.
  size_t last = loops.size() - 1;
  while (last > 0 && extents[last] == 1) --last;
  std::vector<std::string> outer;
  std::vector<std::string> inner;
  std::vector<int64_t> inner_extents;
  std::string lines;  // the loop over lines that are computed together
  const SharedLines shared = transposed < 0 && fused_from == rank - 1 && last == loops.size() - 1
                                 ? SharedLinesOf(input.nest, input.target)
                                 : SharedLines{};
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t tile = std::min(tiles[i], extents[i]);
    if (tile == 1 && i != last) {
      outer.push_back(loops[i]);
    } else if (tile < extents[i]) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, loops[i], tile));
      outer.push_back(split.first);
      inner.push_back(split.second);
      inner_extents.push_back(tile);
    } else {
      inner.push_back(loops[i]);
      inner_extents.push_back(extents[i]);
    }
    if (shared.axis == static_cast<int>(i) && tile == shared.lines) {
      lines = inner.back();
      inner.pop_back();
      inner_extents.pop_back();
    } else if (shared.axis == static_cast<int>(i) && tile > shared.lines) {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, inner.back(), shared.lines));
      inner.back() = split.first;
      lines = split.second;
    }
  }
  std::vector<std::string> order = outer;
  const size_t row = inner.size() - 2;  // where there is one
  if (inner.size() > 1 && fused_from == rank - 1 && inner_extents.back() == root.shape.back() && transposed < 0 &&
      !ReadsPosition(input.structure) && HasShortRows(input.nest, inner_extents[row], lanes)) {
    order.insert(order.end(), inner.begin(), inner.end());
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
    SMELT_ASSIGN_OR_RETURN(const auto around,
                           VectorizeShortRows(schedule, root, inner[row], inner_extents[row], inner.back(), lanes));
    order.resize(order.size() - 2);
    order.insert(order.end(), around.begin(), around.end());
  } else if (inner.size() > 1 && fused_from == rank - 1 && inner_extents.back() == root.shape.back() &&
             transposed < 0 && root.shape.back() < lanes && inner_extents[row] >= lanes && StacksShortRows(root)) {
    // Vectors go along the rows, one for each element of them; the stores of all elements of a row follow each other.
    for (size_t i = 0; i < row; ++i) order.push_back(inner[i]);
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, stage, inner[row], inner_extents[row], lanes));
    if (!split.first.empty()) order.push_back(split.first);
    SMELT_RETURN_IF_ERROR(schedule.Unroll(stage, inner.back()));
    std::vector<std::string> all = order;
    all.push_back(inner.back());
    all.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, all));
  } else {
    for (size_t i = 0; i + 1 < inner.size(); ++i) order.push_back(inner[i]);
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, stage, inner.back(), inner_extents.back(), lanes));
    if (!split.first.empty()) order.push_back(split.first);
    std::vector<std::string> all = order;
    if (!lines.empty()) {
      SMELT_RETURN_IF_ERROR(schedule.Unroll(stage, lines));
      all.push_back(lines);
    }
    all.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, all));
  }
  return ParallelizeOutermost(schedule, stage, order, Elements(root) * (1 + BodyCost(root)));
}

}  // namespace smelt::kernels::nests

#include "kernels/templates/parallel_pieces.h"

#include <algorithm>
#include <tuple>

#include "base/status_macros.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {
namespace {

// Work of a contraction, in floating-point operations, below which waking the threads takes longer than it saves.
constexpr double kWorthPieces = 256 * 1024;

// Puts the loops outermost, in this order; the rest, loops of one iteration outside of them too, keeps its own.
absl::Status MoveOutermost(schedule::Schedule& schedule, const std::string& stage, std::vector<std::string> loops) {
  const size_t moved = loops.size();
  for (const std::string& loop : schedule.Loops(stage)) {
    const auto end = loops.begin() + static_cast<int64_t>(moved);
    if (std::find(loops.begin(), end, loop) == end) loops.push_back(loop);
  }
  return ReorderLoops(schedule, stage, loops);
}

}  // namespace

size_t FusibleLoops(std::vector<TileLoop>& loops) {
  const auto several = [](const TileLoop& loop) { return loop.count() > 1; };
  const auto uneven = [&](const TileLoop& loop) { return several(loop) && !loop.even(); };
  // The same loop whatever the order: that with the most iterations.
  const auto first = std::max_element(loops.begin(), loops.end(), [&](const TileLoop& a, const TileLoop& b) {
    return std::tuple(uneven(a), a.count(), -a.axis) < std::tuple(uneven(b), b.count(), -b.axis);
  });
  const bool any = first != loops.end() && uneven(*first);
  if (any) std::rotate(loops.begin(), first, first + 1);
  const auto serial = std::stable_partition(loops.begin() + (any ? 1 : 0), loops.end(),
                                            [&](const TileLoop& loop) { return several(loop) && loop.even(); });
  return static_cast<size_t>(serial - loops.begin());
}

double PieceBalance(std::vector<TileLoop> loops, int threads) {
  loops.resize(FusibleLoops(loops));
  if (loops.empty()) return 1.0 / std::max(threads, 1);
  // Only the outermost tiles differ in size.
  const TileLoop& first = loops[0];
  int64_t within = 1;
  for (size_t i = 1; i < loops.size(); ++i) within *= loops[i].count();
  const int64_t pieces = first.count() * within;
  const auto work_before = [&](int64_t piece) {
    const int64_t tiles = piece / within;
    const double whole = static_cast<double>(std::min(tiles * first.tile, first.extent)) * static_cast<double>(within);
    return whole + static_cast<double>(piece % within) *
                       static_cast<double>(std::min(first.tile, first.extent - tiles * first.tile));
  };
  double longest = 0;
  for (int64_t worker = 0; worker < threads; ++worker) {
    longest = std::max(longest, work_before(pieces * (worker + 1) / threads) - work_before(pieces * worker / threads));
  }
  return work_before(pieces) / (threads * longest);
}

absl::StatusOr<std::vector<std::string>> ParallelizePieces(schedule::Schedule& schedule, const std::string& stage,
                                                           std::vector<TileLoop> loops, int threads, double work) {
  std::vector<std::string> names;
  for (const TileLoop& loop : loops) names.push_back(loop.loop);
  if (threads <= 1) {
    const auto several = std::find_if(loops.begin(), loops.end(), [](const TileLoop& l) { return l.count() > 1; });
    if (several == loops.end() || work < kWorthPieces) return names;
    const auto at = names.begin() + (several - loops.begin());
    std::rotate(names.begin(), at, at + 1);
    SMELT_RETURN_IF_ERROR(MoveOutermost(schedule, stage, names));
    SMELT_RETURN_IF_ERROR(schedule.Parallel(stage, names[0]));
    return names;
  }
  const size_t fused = FusibleLoops(loops);
  if (work < kWorthPieces || fused == 0) return names;
  names.clear();
  for (const TileLoop& loop : loops) names.push_back(loop.loop);
  SMELT_RETURN_IF_ERROR(MoveOutermost(schedule, stage, names));
  for (size_t i = 1; i < fused; ++i) {
    SMELT_ASSIGN_OR_RETURN(names[0], schedule.Fuse(stage, names[0], names[1]));
    names.erase(names.begin() + 1);
  }
  SMELT_RETURN_IF_ERROR(schedule.Parallel(stage, names[0]));
  return names;
}

}  // namespace smelt::kernels::nests

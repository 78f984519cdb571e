#include "kernels/nests/axis_match.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::kernels::nests {
namespace {

using te::BinaryOp;
using te::Expr;
using te::ExprKind;

int AxisOf(const te::Operation& operation, const Expr& e) {
  for (size_t i = 0; i < operation.axes.size(); ++i) {
    if (operation.axes[i].var.Same(e)) return static_cast<int>(i);
  }
  return -1;
}

bool IsBinary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::kBinary && e->binary() == op; }

// ((a * extent(b) + b) * extent(c) + c): consecutive axes, row-major.
bool MatchFused(const te::Operation& consumer, const Expr& e, std::vector<int>* axes) {
  if (const int axis = AxisOf(consumer, e); axis >= 0) {
    axes->push_back(axis);
    return true;
  }
  if (!IsBinary(e, BinaryOp::kAdd)) return false;
  Expr scaled = e->operands[0];
  Expr inner = e->operands[1];
  if (AxisOf(consumer, inner) < 0) std::swap(scaled, inner);
  const int axis = AxisOf(consumer, inner);
  if (axis < 0 || !IsBinary(scaled, BinaryOp::kMul)) return false;
  int64_t factor = 0;
  Expr outer = scaled->operands[0];
  if (!te::IsConstInt(scaled->operands[1], &factor)) {
    outer = scaled->operands[1];
    if (!te::IsConstInt(scaled->operands[0], &factor)) return false;
  }
  if (factor != consumer.shape[axis] || !MatchFused(consumer, outer, axes)) return false;
  axes->push_back(axis);
  return true;
}

// axis / divisor mod modulus.
bool MatchPart(const te::Operation& consumer, const Expr& e, AxisSource* source) {
  Expr rest = e;
  int64_t constant = 0;
  if (IsBinary(rest, BinaryOp::kFloorMod) && te::IsConstInt(rest->operands[1], &constant)) {
    source->modulus = constant;
    rest = rest->operands[0];
  }
  while (IsBinary(rest, BinaryOp::kFloorDiv) && te::IsConstInt(rest->operands[1], &constant)) {
    source->divisor *= constant;
    rest = rest->operands[0];
  }
  const int axis = AxisOf(consumer, rest);
  if (axis < 0) return false;
  source->axes = {axis};
  return true;
}

}  // namespace

std::optional<AxisMatch> MatchAxes(const te::Operation& consumer, const te::Operation& producer,
                                   const std::vector<Expr>& indices) {
  AxisMatch match;
  std::vector<int> whole(consumer.axes.size(), 0);
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> parts;  // axis -> (divisor, modulus) of each part
  for (size_t d = 0; d < indices.size(); ++d) {
    AxisSource source;
    if (producer.shape[d] == 1) {
      match.sources.push_back(source);
      continue;
    }
    if (MatchFused(consumer, indices[d], &source.axes)) {
      for (int axis : source.axes) ++whole[axis];
    } else {
      source = {};
      if (!MatchPart(consumer, indices[d], &source)) return std::nullopt;
      parts[source.axes[0]].emplace_back(source.divisor, source.modulus);
    }
    match.sources.push_back(source);
  }
  for (size_t a = 0; a < consumer.axes.size(); ++a) {
    const auto of_axis = parts.find(static_cast<int>(a));
    if (of_axis == parts.end()) {
      if (whole[a] != (consumer.shape[a] == 1 ? whole[a] : 1)) return std::nullopt;
      continue;
    }
    if (whole[a] != 0) return std::nullopt;
    // From the innermost part outwards each divisor is the product of the moduli within.
    std::vector<std::pair<int64_t, int64_t>>& list = of_axis->second;
    std::sort(list.begin(), list.end());
    int64_t product = 1;
    for (size_t i = 0; i < list.size(); ++i) {
      const bool outermost = i + 1 == list.size();
      if (list[i].first != product || (list[i].second == 0) != outermost) return std::nullopt;
      product *= outermost ? 1 : list[i].second;
    }
    if (list.size() < 2) return std::nullopt;
  }
  return match;
}

absl::StatusOr<std::vector<std::string>> LoopsOfProducer(schedule::Schedule& schedule, const std::string& consumer,
                                                         const AxisMatch& match) {
  std::vector<std::string> loops(match.sources.size());
  // Parts of one axis: split from the inside, inner parts first.
  std::map<int, std::vector<std::pair<int64_t, size_t>>> parts;  // axis -> (divisor, producer axis)
  for (size_t d = 0; d < match.sources.size(); ++d) {
    const AxisSource& source = match.sources[d];
    if (source.axes.empty()) continue;
    if (source.divisor != 1 || source.modulus != 0) {
      parts[source.axes[0]].emplace_back(source.divisor, d);
      continue;
    }
    std::string loop = absl::StrCat("i", source.axes[0]);
    for (size_t i = 1; i < source.axes.size(); ++i) {
      // Only neighbours fuse: the inner loop moves next to the outer one.
      const std::string inner = absl::StrCat("i", source.axes[i]);
      std::vector<std::string> order;
      for (const std::string& other : schedule.Loops(consumer)) {
        if (other != inner) order.push_back(other);
        if (other == loop) order.push_back(inner);
      }
      SMELT_RETURN_IF_ERROR(schedule.Reorder(consumer, order));
      SMELT_ASSIGN_OR_RETURN(loop, schedule.Fuse(consumer, loop, inner));
    }
    loops[d] = loop;
  }
  for (auto& [axis, list] : parts) {
    std::sort(list.begin(), list.end());
    std::string rest = absl::StrCat("i", axis);
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      const size_t d = list[i].second;
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(consumer, rest, match.sources[d].modulus));
      loops[d] = split.second;
      rest = split.first;
    }
    loops[list.back().second] = rest;
  }
  return loops;
}

}  // namespace smelt::kernels::nests

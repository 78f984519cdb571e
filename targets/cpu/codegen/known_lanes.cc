#include "targets/cpu/codegen/known_lanes.h"

#include <algorithm>

#include "kernels/te/scalar.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::ExprKind;

// The most nodes that an index may have. Larger ones are not looked into: what they share would be walked again and
// again.
constexpr int kMostNodes = 64;

std::optional<KnownLanes> LanesOfIndex(const Expr& index, int* budget) {
  if (--*budget < 0) return std::nullopt;
  const int lanes = index.type().lanes;
  int64_t value;
  if (index->kind == ExprKind::kSplat) {
    if (kernels::te::IsConstInt(index->operands[0], &value)) return KnownLanes{{}, std::vector<int64_t>(lanes, value)};
    return KnownLanes{{index->operands[0]}, std::vector<int64_t>(lanes, 0)};
  }
  if (index->kind == ExprKind::kRamp) {
    int64_t stride;
    if (!kernels::te::IsConstInt(index->operands[1], &stride)) return std::nullopt;
    KnownLanes known;
    const bool constant = kernels::te::IsConstInt(index->operands[0], &value);
    if (!constant) known.terms.push_back(index->operands[0]);
    for (int i = 0; i < lanes; ++i) known.offsets.push_back((constant ? value : 0) + i * stride);
    return known;
  }
  if (index->kind != ExprKind::kBinary) return std::nullopt;
  std::optional<KnownLanes> a = LanesOfIndex(index->operands[0], budget);
  if (!a) return std::nullopt;
  const std::optional<KnownLanes> b = LanesOfIndex(index->operands[1], budget);
  if (!b) return std::nullopt;
  if (index->binary() == kernels::te::BinaryOp::kAdd) {
    a->terms.insert(a->terms.end(), b->terms.begin(), b->terms.end());
    for (int i = 0; i < lanes; ++i) a->offsets[i] += b->offsets[i];
    return a;
  }
  if (!a->terms.empty() || !b->terms.empty()) return std::nullopt;
  for (int i = 0; i < lanes; ++i) {
    switch (index->binary()) {
      case kernels::te::BinaryOp::kMul:
        a->offsets[i] *= b->offsets[i];
        break;
      case kernels::te::BinaryOp::kFloorDiv:
        if (b->offsets[i] <= 0) return std::nullopt;
        a->offsets[i] = kernels::te::FloorDivide(a->offsets[i], b->offsets[i]);
        break;
      case kernels::te::BinaryOp::kFloorMod:
        if (b->offsets[i] <= 0) return std::nullopt;
        a->offsets[i] = kernels::te::FloorModulo(a->offsets[i], b->offsets[i]);
        break;
      default:
        return std::nullopt;
    }
  }
  return a;
}

}  // namespace

std::optional<KnownLanes> KnownLanesOf(const kernels::te::ExprNode& load) {
  const Expr& index = load.operands[0];
  if (load.type.lanes < 4 || load.predicate || index->kind != ExprKind::kBinary) return std::nullopt;
  int budget = kMostNodes;
  return LanesOfIndex(index, &budget);
}

std::vector<Span> SpansOf(const KnownLanes& known) {
  std::vector<int64_t> offsets = known.offsets;
  std::sort(offsets.begin(), offsets.end());
  const auto lanes = static_cast<int64_t>(offsets.size());
  std::vector<Span> spans;
  for (const int64_t offset : offsets) {
    if (spans.empty() || offset - spans.back().first >= lanes) spans.push_back({offset, offset});
    spans.back().last = offset;
  }
  return spans;
}

}  // namespace smelt::cpu::codegen

#include "targets/cpu/codegen/transposed_loads.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "kernels/nests/access.h"
#include "kernels/te/scalar.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::ExprKind;
using kernels::te::ExprNode;

constexpr size_t kMostLoads = 2;  // blocks in registers at once
constexpr int kFewestLanes = 4, kMostLanes = 16;

// The first lanes for which a predicate holds whatever happens: ramp(0, 1, n) < splat(rows, n). Nothing: another one.
std::optional<int64_t> FirstLanes(const Expr& predicate) {
  int64_t start, step, bound;
  if (predicate->kind != ExprKind::kCompare || predicate->compare() != kernels::te::CompareOp::kLt) return std::nullopt;
  const Expr &ramp = predicate->operands[0], &splat = predicate->operands[1];
  if (ramp->kind != ExprKind::kRamp || splat->kind != ExprKind::kSplat ||
      !kernels::te::IsConstInt(ramp->operands[0], &start) || !kernels::te::IsConstInt(ramp->operands[1], &step) ||
      step != 1 || !kernels::te::IsConstInt(splat->operands[0], &bound)) {
    return std::nullopt;
  }
  return std::clamp<int64_t>(bound - start, 0, ramp.type().lanes);
}

// How many rows a load's block has; 0: it is none.
int64_t RowsOf(const ExprNode& load, const kernels::ir::StmtNode& loop) {
  const Expr& index = load.operands[0];
  const int lanes = load.type.lanes;
  int64_t stride;
  if (index->kind != ExprKind::kRamp || lanes < kFewestLanes || lanes > kMostLanes ||
      !std::has_single_bit(static_cast<unsigned>(lanes)) || !kernels::te::IsConstInt(index->operands[1], &stride) ||
      std::abs(stride) <= kShuffledStride) {
    return 0;
  }
  if (kernels::nests::Coefficient(index->operands[0], loop.var) != 1) return 0;
  return load.predicate ? FirstLanes(load.predicate).value_or(0) : lanes;
}

}  // namespace

std::vector<TransposedLoad> TransposedLoads(const kernels::ir::StmtNode& loop) {
  std::vector<TransposedLoad> found;
  const kernels::ir::StmtNode* store = loop.body().get();
  int64_t rounds;
  if (store == nullptr || store->kind != kernels::ir::StmtKind::kStore ||
      (store->predicate && !FirstLanes(store->predicate)) || !kernels::te::IsConstInt(loop.extent, &rounds)) {
    return {};
  }
  bool reads_back = false;
  kernels::te::Visit(store->value, [&](const Expr& e) {
    if (e->kind != ExprKind::kLoad) return;
    reads_back |= e->buffer == store->buffer;
    if (const int64_t rows = RowsOf(*e, loop); rows > 1) found.push_back({e.get(), rows});
  });
  const bool fits = !reads_back && !found.empty() && found.size() <= kMostLoads &&
                    std::all_of(found.begin(), found.end(), [&](const TransposedLoad& x) {
                      return x.load->type.lanes == found[0].load->type.lanes && rounds >= x.load->type.lanes;
                    });
  return fits ? found : std::vector<TransposedLoad>();
}

}  // namespace smelt::cpu::codegen

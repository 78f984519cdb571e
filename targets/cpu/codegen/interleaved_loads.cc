#include "targets/cpu/codegen/interleaved_loads.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kernels/ir/interleaved_rows.h"
#include "kernels/te/scalar.h"
#include "targets/cpu/codegen/index_sum.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::ExprKind;
using kernels::te::ExprNode;

// What loads of the same rows have in common; those of neighbouring rows have, too.
using Rows =
    std::tuple<const kernels::ir::BufferNode*, int64_t /*stride*/, int /*lanes*/, std::vector<const ExprNode*>>;

struct Use {
  const ExprNode* load = nullptr;
  size_t statement = 0;
};
using UsesByConstant = std::map<int64_t, Use>;
using Written = absl::flat_hash_set<const kernels::ir::BufferNode*>;

// How far apart the lanes are of what may be part of a row; 0: it is none. What it reads and where stays the same from
// statement to statement.
int64_t StrideOf(const ExprNode& load, const Written& written) {
  int64_t stride;
  if (load.kind != ExprKind::kLoad || load.predicate || load.type.lanes < 4 ||
      load.operands[0]->kind != ExprKind::kRamp || !kernels::te::IsConstInt(load.operands[0]->operands[1], &stride) ||
      stride < 2 || stride > kernels::ir::kLongestInterleavedRow || written.contains(load.buffer.get())) {
    return 0;
  }
  bool moves = false;
  kernels::te::Visit(load.operands[0], [&](const Expr& e) {
    moves = moves || (e->kind == ExprKind::kLoad && written.contains(e->buffer.get()));
  });
  return moves ? 0 : stride;
}

}  // namespace

std::vector<InterleavedLoads> FindInterleavedLoads(absl::Span<const kernels::ir::Stmt> stmts, const Written& written) {
  std::map<Rows, size_t> numbers;
  std::vector<std::pair<int64_t, UsesByConstant>> rows;  // the stride, and who reads what; in the order of the code
  absl::flat_hash_set<const ExprNode*> seen;
  for (size_t i = 0; i < stmts.size(); ++i) {
    if (stmts[i] == nullptr || stmts[i]->kind != kernels::ir::StmtKind::kStore) continue;
    kernels::te::Visit(stmts[i]->value, [&](const Expr& e) {
      if (!seen.insert(e.get()).second) return;
      const int64_t stride = StrideOf(*e, written);
      if (stride == 0) return;
      IndexSum sum = SumOf(e->operands[0]->operands[0]);
      const auto [at, is_new] =
          numbers.try_emplace({e->buffer.get(), stride, e.type().lanes, std::move(sum.terms)}, rows.size());
      if (is_new) rows.emplace_back(stride, UsesByConstant());
      rows[at->second].second.try_emplace(sum.constant, Use{e.get(), i});
    });
  }

  std::vector<InterleavedLoads> found;
  for (const auto& [stride, uses] : rows) {
    InterleavedLoads loads;
    int64_t next = 0;
    for (const auto& [constant, use] : uses) {
      if (loads.loads.empty() || constant != next) loads = {.first_use = use.statement};
      loads.loads.push_back(use.load);
      loads.first_use = std::min(loads.first_use, use.statement);
      next = constant + 1;
      if (static_cast<int64_t>(loads.loads.size()) < stride) continue;
      found.push_back(std::move(loads));
      loads = {};
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const InterleavedLoads& a, const InterleavedLoads& b) { return a.first_use < b.first_use; });
  return found;
}

}  // namespace smelt::cpu::codegen

#include "targets/cpu/codegen/tile_block.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/te/dot_intrinsics.h"
#include "kernels/te/intrinsic.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::ir::Stmt;
using kernels::ir::StmtKind;
using kernels::te::Expr;
using kernels::te::ExprKind;
using kernels::te::ExprNode;

bool IsZero(const ExprNode& call) { return call.intrinsic->name == kernels::te::TileZero()->name; }

// Strides of all operands follow the operands, and the rows are last.
TileSum SumOf(const ExprNode& call) {
  const size_t stride = IsZero(call) ? 1 : 3;
  return {call.operands[0], call.operands[stride]->int_value, call.operands.back()->int_value, IsZero(call)};
}

// Whether two tiles of one buffer have an element in common, as far as one can see.
bool MayMeet(const TileSum& a, const TileSum& b) {
  if (a.address->buffer != b.address->buffer) return false;
  int64_t first = 0, second = 0;
  if (a.stride != b.stride || !kernels::te::IsConstInt(a.address->operands[0], &first) ||
      !kernels::te::IsConstInt(b.address->operands[0], &second))
    return true;
  for (int64_t i = 1 - a.rows; i < b.rows; ++i) {
    if (std::abs(first - second - i * a.stride) < kernels::te::kTileLanes) return true;
  }
  return false;
}

class RunFinder {
 public:
  // Whether the statement belongs to the run; `sums` may have grown even where it does not.
  bool Takes(const Stmt& stmt) {
    if (stmt == nullptr) return true;
    switch (stmt->kind) {
      case StmtKind::kSeq:
        return std::all_of(stmt->stmts.begin(), stmt->stmts.end(), [&](const Stmt& child) { return Takes(child); });
      case StmtKind::kAttribute:
        return Takes(stmt->body());
      case StmtKind::kFor: {
        loops_.push_back(stmt->var);
        const bool takes = Takes(stmt->body());
        loops_.pop_back();
        return takes;
      }
      case StmtKind::kEvaluate:
        return stmt->value->kind == ExprKind::kCall && IsTileCall(stmt->value->intrinsic->name) &&
               TakesSum(SumOf(*stmt->value));
      default:
        return false;
    }
  }

  std::vector<TileSum> sums;

 private:
  bool TakesSum(TileSum sum) {
    for (const TileSum& known : sums) {
      if (known.address.Same(sum.address) && known.stride == sum.stride && known.rows == sum.rows) return true;
      if (MayMeet(known, sum)) return false;
    }
    if (sums.size() == kTileSums || (!sums.empty() && sums[0].rows != sum.rows)) return false;
    bool moves = false;
    kernels::te::Visit(sum.address, [&](const Expr& e) {
      moves |= std::any_of(loops_.begin(), loops_.end(), [&](const Expr& var) { return e.Same(var); });
    });
    // A loop may run no times at all.
    sum.begins_at_zero &= loops_.empty();
    if (!moves) sums.push_back(std::move(sum));
    return !moves;
  }

  std::vector<Expr> loops_;
};

}  // namespace

bool IsTileCall(std::string_view name) { return name.starts_with("tile_"); }

TileRun FindTileRun(absl::Span<const Stmt> stmts) {
  TileRun run;
  RunFinder finder;
  for (const Stmt& stmt : stmts) {
    if (!finder.Takes(stmt)) break;
    ++run.count;
    run.sums = finder.sums;
  }
  if (run.sums.empty()) run.count = 0;
  return run;
}

std::vector<int64_t> TileRowsIn(const Stmt& body) {
  std::vector<int64_t> rows;
  std::vector<const kernels::ir::StmtNode*> open{body.get()};
  while (!open.empty()) {
    const kernels::ir::StmtNode* stmt = open.back();
    open.pop_back();
    if (stmt == nullptr) continue;
    if (stmt->kind == StmtKind::kEvaluate && stmt->value->kind == ExprKind::kCall &&
        IsTileCall(stmt->value->intrinsic->name))
      rows.push_back(SumOf(*stmt->value).rows);
    open.push_back(stmt->then_case.get());
    open.push_back(stmt->else_case.get());
    for (const Stmt& child : stmt->stmts) open.push_back(child.get());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace smelt::cpu::codegen

#include "kernels/lower/auto_unroll.h"

#include <algorithm>

#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {
namespace {

using ir::ForKind;
using ir::StmtKind;

constexpr int kDeepest = 8;

struct Limits {
  int64_t most = 0;  // statements
  bool in_loops = true;
};

class Chooser {
 public:
  // What the statement became, and how much it is.
  struct Result {
    Stmt stmt;
    int64_t statements = 0;
    int depth = 0;      // of unrolled loops
    bool whole = true;  // without a loop that stays
  };

  Result Visit(const Stmt& stmt, const Limits& limits) {
    if (stmt == nullptr) return {};
    if (ir::IsAnnotation(*stmt, ir::kAutoUnroll)) {
      Limits inner;
      int64_t in_loops = 1;
      te::IsConstInt(ir::FactsOf(*stmt)[0], &inner.most);
      te::IsConstInt(ir::FactsOf(*stmt)[1], &in_loops);
      inner.in_loops = in_loops != 0;
      return Visit(stmt->body(), inner);
    }
    Result result;
    result.stmt = ir::MapChildren(stmt, [&](const Stmt& child) {
      Result below = Visit(child, limits);
      result.statements = std::min<int64_t>(result.statements + below.statements, INT32_MAX);
      result.depth = std::max(result.depth, below.depth);
      result.whole &= below.whole;
      return below.stmt;
    });
    if (stmt->kind == StmtKind::kStore || stmt->kind == StmtKind::kEvaluate) result.statements = 1;
    if (result.stmt == nullptr || result.stmt->kind != StmtKind::kFor) return result;
    const ir::StmtNode& loop = *result.stmt;
    int64_t extent = 0;
    const bool constant = te::IsConstInt(loop.min) && te::IsConstInt(loop.extent, &extent);
    result.statements =
        std::min<int64_t>(result.statements * std::max<int64_t>(std::min<int64_t>(extent, INT32_MAX), 1), INT32_MAX);
    if (loop.for_kind == ForKind::kUnrolled) {
      ++result.depth;
      return result;
    }
    if (limits.most == 0 || loop.for_kind != ForKind::kSerial || !constant || !result.whole ||
        result.depth >= kDeepest || result.statements > limits.most) {
      result.whole = false;
      return result;
    }
    ++result.depth;
    result.stmt = limits.in_loops ? ir::For(loop.var, loop.min, loop.extent, ForKind::kUnrolled, loop.body())
                                  : ir::Annotate(ir::kUnrollByCompiler, nullptr, Expr(), result.stmt);
    return result;
  }
};

}  // namespace

absl::StatusOr<ir::Function> ChooseUnrolledLoops(ir::Function function, PassContext&) {
  for (ir::Phase& phase : function.phases) phase.body = Chooser().Visit(phase.body, {}).stmt;
  return function;
}

}  // namespace smelt::kernels::lower

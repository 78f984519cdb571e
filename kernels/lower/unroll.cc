#include "kernels/lower/unroll.h"

#include <optional>

#include "kernels/ir/mutate.h"
#include "kernels/lower/lower.h"
#include "kernels/te/rewriter.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;

// Statements that the body would become.
int64_t UnrolledSize(const Stmt& stmt) {
  if (stmt == nullptr) return 0;
  int64_t size = stmt->kind == StmtKind::kStore || stmt->kind == StmtKind::kEvaluate ? 1 : 0;
  size += UnrolledSize(stmt->then_case) + UnrolledSize(stmt->else_case);
  for (const Stmt& child : stmt->stmts) size += UnrolledSize(child);
  int64_t extent = 0;
  if (stmt->kind == StmtKind::kFor && stmt->for_kind == ir::ForKind::kUnrolled &&
      te::IsConstInt(stmt->extent, &extent)) {
    if (__builtin_mul_overflow(size, extent, &size)) return INT64_MAX / 4;
  }
  return size;
}

class Unroller {
 public:
  explicit Unroller(PassContext& context) : simplifier_(context.simplifier), limit_(context.options.unroll_limit) {}

  Stmt Visit(const Stmt& stmt) {
    if (stmt == nullptr) return nullptr;
    int64_t min = 0, extent = 0;
    if (stmt->kind == StmtKind::kFor && stmt->for_kind == ir::ForKind::kUnrolled) {
      if (!te::IsConstInt(stmt->min, &min) || !te::IsConstInt(stmt->extent, &extent) || UnrolledSize(stmt) > limit_) {
        return ir::For(stmt->var, Apply(stmt->min), Apply(stmt->extent), ir::ForKind::kSerial, Visit(stmt->body()));
      }
      std::vector<Stmt> copies;
      for (int64_t i = 0; i < extent; ++i) {
        values_.emplace_back(stmt->var, Expr(min + i));
        rewriter_.reset();
        copies.push_back(Visit(stmt->body()));
        values_.pop_back();
      }
      rewriter_.reset();
      return ir::Seq(std::move(copies));
    }
    if (values_.empty()) return ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child); });
    if (stmt->kind == StmtKind::kIf) {
      const Expr condition = Apply(stmt->condition);
      int64_t constant = 0;
      if (te::IsConstInt(condition, &constant)) return Visit(constant != 0 ? stmt->then_case : stmt->else_case);
      return ir::IfThen(condition, Visit(stmt->then_case), Visit(stmt->else_case));
    }
    const Stmt own = ir::MapExprs(stmt, [&](const Expr& e) { return Apply(e); });
    return ir::MapChildren(own, [&](const Stmt& child) { return Visit(child); });
  }

 private:
  Expr Apply(const Expr& e) {
    if (!rewriter_) rewriter_.emplace(values_);
    return simplifier_.Simplify((*rewriter_)(e));
  }

  te::Simplifier& simplifier_;
  const int64_t limit_;
  std::vector<std::pair<Expr, Expr>> values_;  // of the loops around that are being unrolled
  std::optional<te::Rewriter> rewriter_;       // puts them in; made anew when they change
};

}  // namespace

absl::StatusOr<ir::Function> UnrollLoops(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) phase.body = Unroller(context).Visit(phase.body);
  return function;
}

}  // namespace smelt::kernels::lower

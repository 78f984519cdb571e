#include "kernels/tiles/decomposition.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/ir/mutate.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::nests {
namespace {

using ir::StmtKind;
using te::Expr;
using te::ExprKind;

// What one iteration of a phase does.
struct Piece {
  double work = 0;
  std::map<const ir::BufferNode*, double> copied;  // elements, by the buffer that they come from
};

// Operations on values in the expression; those on positions are free.
double Operations(const Expr& value) {
  double operations = 0;
  te::Visit(value, [&](const Expr& e) {
    if (e->type.element == hlo::PrimitiveType::kS64 || e->type.element == hlo::PrimitiveType::kPred) return;
    operations += e->kind == ExprKind::kUnary || e->kind == ExprKind::kBinary || e->kind == ExprKind::kSelect ? 1 : 0;
  });
  return operations;
}

// Whether `var < bound`, a bound of the parallel loop's pieces.
bool IsPieceBound(const Expr& condition, const Expr& var, int64_t* bound) {
  return var && condition->kind == ExprKind::kCompare && condition->compare() == te::CompareOp::kLt &&
         condition->operands[0].Same(var) && te::IsConstInt(condition->operands[1], bound);
}

void Walk(const ir::Stmt& stmt, const Expr& var, int64_t at, double times, Piece* piece) {
  if (stmt == nullptr) return;
  int64_t constant = 0;
  switch (stmt->kind) {
    case StmtKind::kStore: {
      const double lanes = times * stmt->value.type().lanes;
      piece->work += lanes * (1 + Operations(stmt->value));
      const bool scratch = stmt->buffer->scope != te::Scope::kArgument && stmt->buffer->scope != te::Scope::kLocal;
      // A copy into a border reads under a condition: that is no packing.
      const bool copy = stmt->value->kind == ExprKind::kLoad && !stmt->value->predicate;
      if (scratch && copy) piece->copied[stmt->value->buffer.get()] += lanes;
      return;
    }
    case StmtKind::kFor:
      if (te::IsConstInt(stmt->extent, &constant)) times *= static_cast<double>(constant);
      Walk(stmt->body(), var, at, times, piece);
      return;
    case StmtKind::kIf:
      if (IsPieceBound(stmt->condition, var, &constant)) {
        Walk(at < constant ? stmt->then_case : stmt->else_case, var, at, times, piece);
      } else {
        Walk(stmt->then_case, var, at, times, piece);
      }
      return;
    case StmtKind::kSeq:
      for (const ir::Stmt& child : stmt->stmts) Walk(child, var, at, times, piece);
      return;
    case StmtKind::kAllocate:
    case StmtKind::kAttribute:
      Walk(stmt->body(), var, at, times, piece);
      return;
    case StmtKind::kEvaluate:
      piece->work += times;
      return;
  }
}

// The phase's iterations from `begin` on, up to the next segment's, are all such a piece.
struct Segment {
  int64_t begin = 0;
  Piece piece;
};

std::vector<Segment> SegmentsOf(const ir::Phase& phase) {
  std::set<int64_t> begins{0};
  ir::VisitStmts(phase.body, [&](const ir::StmtNode& stmt) {
    int64_t bound = 0;
    if (stmt.kind == StmtKind::kIf && IsPieceBound(stmt.condition, phase.var, &bound) && bound < phase.extent)
      begins.insert(std::max<int64_t>(bound, 0));
  });
  std::vector<Segment> segments;
  for (const int64_t begin : begins) {
    segments.push_back({begin, {}});
    Walk(phase.body, phase.var, begin, 1, &segments.back().piece);
  }
  return segments;
}

}  // namespace

Decomposition Decompose(const ir::Function& function, int threads) {
  Decomposition result;
  std::map<const ir::BufferNode*, double> copied;
  double busiest = 0;
  for (const ir::Phase& phase : function.phases) {
    const std::vector<Segment> segments = SegmentsOf(phase);
    const auto work_before = [&](int64_t iteration) {
      double work = 0;
      for (size_t s = 0; s < segments.size(); ++s) {
        const int64_t end = s + 1 < segments.size() ? segments[s + 1].begin : phase.extent;
        const int64_t count = std::clamp<int64_t>(iteration - segments[s].begin, 0, end - segments[s].begin);
        work += static_cast<double>(count) * segments[s].piece.work;
      }
      return work;
    };
    for (size_t s = 0; s < segments.size(); ++s) {
      const int64_t end = s + 1 < segments.size() ? segments[s + 1].begin : phase.extent;
      for (const auto& [buffer, elements] : segments[s].piece.copied)
        copied[buffer] += elements * static_cast<double>(end - segments[s].begin);
    }
    double longest = 0;
    for (int64_t worker = 0; worker < threads; ++worker) {
      longest = std::max(
          longest, work_before(phase.extent * (worker + 1) / threads) - work_before(phase.extent * worker / threads));
    }
    result.work += work_before(phase.extent);
    busiest += longest;
  }
  if (busiest > 0) result.balance = std::min(1.0, result.work / threads / busiest);
  for (const auto& [buffer, elements] : copied) {
    result.packed += elements;
    result.packed_share =
        std::max(result.packed_share, elements / static_cast<double>(std::max<int64_t>(buffer->ElementCount(), 1)));
  }
  return result;
}

}  // namespace smelt::kernels::nests

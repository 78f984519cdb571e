#include "kernels/lower/prefetch.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/region.h"
#include "kernels/te/intrinsic.h"
#include "machine/machine.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;

// The intrinsic's levels: from the nearest cache on, and from the second one on.
constexpr int64_t kAllCaches = 3, kFartherCaches = 2;

// The indices, by dimension, at which the statement reads the buffer.
std::vector<std::vector<Expr>> ReadsOf(const Stmt& stmt, const ir::Buffer& buffer) {
  std::vector<std::vector<Expr>> reads;
  absl::flat_hash_set<const te::ExprNode*> seen;
  ir::VisitStmts(stmt, [&](const ir::StmtNode& node) {
    ir::ForEachExpr(node, [&](const Expr& root) {
      te::Visit(root, [&](const Expr& e) {
        const bool access = e->kind == te::ExprKind::kLoad || e->kind == te::ExprKind::kAddress;
        if (access && e->buffer == buffer && seen.insert(e.get()).second) reads.push_back(e->operands);
      });
    });
  });
  return reads;
}

// Whether the wish is about another place along an axis, and its body does nothing else than name it.
bool IsAlongAxis(const ir::StmtNode& wish) {
  int64_t along = 0;
  return te::IsConstInt(ir::FactsOf(wish)[2], &along) && along == 1;
}

class Prefetcher {
 public:
  explicit Prefetcher(te::Simplifier& simplifier) : simplifier_(simplifier) {}

  absl::StatusOr<Stmt> Visit(const Stmt& stmt) {
    absl::Status status;
    const Stmt below = ir::MapChildren(stmt, [&](const Stmt& child) -> Stmt {
      absl::StatusOr<Stmt> result = Visit(child);
      status.Update(result.status());
      return result.ok() ? *std::move(result) : child;
    });
    SMELT_RETURN_IF_ERROR(status);
    if (below == nullptr || !ir::IsAnnotation(*below, ir::kPrefetchAhead)) return below;
    SMELT_ASSIGN_OR_RETURN(Stmt ahead, Ahead(*below));
    return IsAlongAxis(*below) ? ahead : ir::Seq({std::move(ahead), below->body()});
  }

 private:
  absl::StatusOr<Stmt> Ahead(const ir::StmtNode& wish) {
    const ir::Buffer& buffer = wish.buffer;
    const std::vector<Expr> facts = ir::FactsOf(wish);
    const std::vector<std::vector<Expr>> reads = ReadsOf(wish.body(), buffer);
    if (reads.empty()) return Stmt();
    absl::flat_hash_set<const te::ExprNode*> within;
    ir::VisitStmts(wish.body(), [&](const ir::StmtNode& node) {
      if (node.kind == StmtKind::kFor) within.insert(node.var.get());
    });
    RegionAnalysis analysis(simplifier_, [&](const Expr& var) { return !within.contains(var.get()); });
    // A loop that ran once has no next iteration: what it reads is asked for as it is.
    const bool runs = facts[0]->kind == te::ExprKind::kVar;
    std::vector<Expr> position;
    std::vector<te::Var> loops;
    std::vector<int64_t> extents;
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      Region region;
      for (size_t r = 0; r < reads.size(); ++r) {
        Region read, joined;
        if (!analysis.Of(reads[r][d], &read) || (r > 0 && !analysis.Join(region, read, &joined)))
          return absl::InvalidArgumentError(absl::StrCat(
              "prefetch of `", buffer->name, "` at loop `", runs ? facts[0]->name : "",
              "`: what is read along dimension ", d, " has no bound; prefetch what is read at known positions only"));
        region = r > 0 ? joined : read;
      }
      const bool last = d + 1 == buffer->shape.size();
      const int64_t step = last ? std::max<int64_t>(1, machine::kLineBytes / hlo::StorageBytes(buffer->type)) : 1;
      const int64_t count = std::min(region.width, buffer->shape[d] - 1) / step + 1;
      Expr first = runs ? te::Substitute(region.base, {{facts[0], facts[0] + facts[1]}}) : region.base;
      loops.emplace_back(absl::StrCat(buffer->name, ".line", d));
      extents.push_back(count);
      simplifier_.Bind(loops.back(), {0, count - 1});
      const Expr at = first + loops.back() * Expr(step);
      position.push_back(simplifier_.Simplify(te::Max(te::Min(at, Expr(buffer->shape[d] - 1)), Expr(0))));
    }
    // What is further away than the next iterations would leave the nearest cache before it is read.
    const Expr locality(IsAlongAxis(wish) ? kFartherCaches : kAllCaches);
    Stmt call = ir::Evaluate(te::Call(te::Prefetch(), {te::AddressOf(buffer, std::move(position)), Expr(0), locality}));
    for (size_t d = loops.size(); d-- > 0;) {
      if (extents[d] > 1) call = ir::For(loops[d], Expr(0), Expr(extents[d]), ir::ForKind::kSerial, std::move(call));
    }
    return call;
  }

  te::Simplifier& simplifier_;
};

}  // namespace

absl::StatusOr<ir::Function> PrefetchAhead(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) {
    SMELT_ASSIGN_OR_RETURN(phase.body, Prefetcher(context.simplifier).Visit(phase.body));
  }
  return function;
}

}  // namespace smelt::kernels::lower

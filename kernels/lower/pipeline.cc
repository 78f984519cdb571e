#include "kernels/lower/pipeline.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/ir/access.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/copies.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;
using BufferSet = absl::flat_hash_set<const ir::BufferNode*>;

struct Piece {
  int64_t step = 0;
  int64_t order = 0;
  std::vector<Expr> conditions;  // that stand around it in the loop
  Stmt body;
  BufferSet written, touched;
};

// One loop, taken apart.
class PipelinedLoop {
 public:
  PipelinedLoop(te::Simplifier& simplifier, const Stmt& loop) : simplifier_(simplifier), loop_(*loop) {
    Collect(loop_.body());
  }

  bool IsPipelined() const { return !pieces_.empty(); }

  absl::StatusOr<Stmt> Build() {
    int64_t extent = 0, first = 0;
    if (bare_ || !te::IsConstInt(loop_.extent, &extent) || !te::IsConstInt(loop_.min, &first) || first != 0)
      return absl::InternalError(absl::StrCat("loop `", loop_.var->name, "` cannot be pipelined as it is"));
    for (Piece& piece : pieces_) FindBuffers(&piece);
    int64_t last_step = 0;
    for (const Piece& piece : pieces_) last_step = std::max(last_step, piece.step);
    SMELT_RETURN_IF_ERROR(MakeCopies());
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.order < b.order; });
    const te::Var turn(loop_.var->name);
    simplifier_.Bind(turn, {0, std::max<int64_t>(extent + last_step - 1, 0)});
    std::vector<Stmt> stmts;
    for (const Piece& piece : pieces_) {
      const Expr iteration = piece.step == 0 ? Expr(turn) : turn - Expr(piece.step);
      Stmt body = piece.body;
      for (size_t i = piece.conditions.size(); i-- > 0;) body = ir::IfThen(piece.conditions[i], std::move(body));
      body = ir::Substitute(MapCopies(body), {{loop_.var, iteration}});
      if (piece.step < last_step) body = ir::IfThen(turn < Expr(extent + piece.step), std::move(body));
      if (piece.step > 0) body = ir::IfThen(turn >= Expr(piece.step), std::move(body));
      stmts.push_back(std::move(body));
    }
    Stmt result = ir::For(turn, Expr(0), Expr(extent + last_step), loop_.for_kind, ir::Seq(std::move(stmts)));
    for (size_t i = wrappers_.size(); i-- > 0;) {
      const ir::StmtNode& wrapper = *wrappers_[i];
      const ir::Buffer buffer = wrapper.buffer == nullptr ? nullptr : CopyOf(wrapper.buffer);
      result = wrapper.kind == StmtKind::kAllocate
                   ? ir::Allocate(buffer, std::move(result))
                   : ir::Attribute(wrapper.key, buffer, wrapper.value, std::move(result));
    }
    return result;
  }

 private:
  void Collect(const Stmt& stmt) {
    if (stmt == nullptr) return;
    if (ir::IsAnnotation(*stmt, ir::kPipelinePiece) && ir::FactsOf(*stmt)[0].Same(loop_.var)) {
      Piece piece{.conditions = conditions_, .body = stmt->body()};
      te::IsConstInt(ir::FactsOf(*stmt)[1], &piece.step);
      te::IsConstInt(ir::FactsOf(*stmt)[2], &piece.order);
      pieces_.push_back(std::move(piece));
      return;
    }
    switch (stmt->kind) {
      case StmtKind::kAllocate:
      case StmtKind::kAttribute:
        wrappers_.push_back(stmt);
        Collect(stmt->body());
        return;
      case StmtKind::kIf:
        conditions_.push_back(stmt->condition);
        Collect(stmt->then_case);
        conditions_.back() = Not(stmt->condition);
        Collect(stmt->else_case);
        conditions_.pop_back();
        return;
      case StmtKind::kSeq:
        for (const Stmt& child : stmt->stmts) Collect(child);
        return;
      default:
        bare_ = true;
    }
  }

  static void FindBuffers(Piece* piece) {
    ir::VisitStmts(piece->body, [&](const ir::StmtNode& node) {
      if (node.kind == StmtKind::kStore) piece->written.insert(node.buffer.get());
      ir::ForEachExpr(node, [&](const Expr& root) {
        te::Visit(root, [&](const Expr& e) {
          if (e->kind == te::ExprKind::kLoad || e->kind == te::ExprKind::kAddress)
            piece->touched.insert(e->buffer.get());
          if (e->kind != te::ExprKind::kCall) return;
          for (size_t i = 0; i < e->operands.size(); ++i) {
            const te::OperandRole role = e->intrinsic->operands[i];
            if (role == te::OperandRole::kWrite || role == te::OperandRole::kUpdate)
              piece->written.insert(e->operands[i]->buffer.get());
          }
        });
      });
    });
    piece->touched.insert(piece->written.begin(), piece->written.end());
  }

  // Makes as many of each buffer as there are steps from its writer to its last reader, and one.
  absl::Status MakeCopies() {
    for (const Stmt& wrapper : wrappers_) {
      if (wrapper->kind != StmtKind::kAllocate) continue;
      const ir::Buffer& buffer = wrapper->buffer;
      const Piece* writer = nullptr;
      for (const Piece& piece : pieces_) {
        if (!piece.written.contains(buffer.get())) continue;
        if (writer != nullptr && writer->step != piece.step)
          return absl::InvalidArgumentError(
              absl::StrCat("loop `", loop_.var->name, "`: two steps of its pipeline store `", buffer->name, "`"));
        writer = &piece;
      }
      int64_t copies = 1;
      for (const Piece& piece : pieces_) {
        if (!piece.touched.contains(buffer.get()) || writer == nullptr || piece.written.contains(buffer.get()))
          continue;
        if (piece.step < writer->step || (piece.step == writer->step && piece.order < writer->order))
          return absl::InvalidArgumentError(absl::StrCat(
              "loop `", loop_.var->name, "`: in its pipeline `", buffer->name, "` would be read before it ",
              "is stored; give its readers a later step, or a later place in the order"));
        copies = std::max(copies, piece.step - writer->step + 1);
      }
      if (copies == 1) continue;
      SMELT_ASSIGN_OR_RETURN(copies_[buffer.get()], CopiesOf(buffer, copies));
    }
    return absl::OkStatus();
  }

  ir::Buffer CopyOf(const ir::Buffer& buffer) const {
    const auto it = copies_.find(buffer.get());
    return it == copies_.end() ? buffer : it->second;
  }

  Stmt MapCopies(const Stmt& stmt) const {
    if (copies_.empty()) return stmt;
    ir::AccessMapper mapper([&](const ir::Buffer& buffer, const std::vector<Expr>& indices) {
      const auto it = copies_.find(buffer.get());
      if (it == copies_.end()) return ir::Access{};
      ir::Access access{it->second, indices};
      access.indices.insert(access.indices.begin(), FloorMod(loop_.var, it->second->shape[0]));
      return access;
    });
    return mapper(stmt, [&](const ir::Buffer& buffer) { return CopyOf(buffer); });
  }

  te::Simplifier& simplifier_;
  const ir::StmtNode& loop_;
  std::vector<Expr> conditions_;
  std::vector<Stmt> wrappers_;  // allocations and attributes between the loop and its parts, outer first
  std::vector<Piece> pieces_;
  bool bare_ = false;  // some statement stands in no part
  absl::flat_hash_map<const ir::BufferNode*, ir::Buffer> copies_;
};

absl::StatusOr<Stmt> Visit(te::Simplifier& simplifier, const Stmt& stmt) {
  absl::Status status;
  const Stmt inner = ir::MapChildren(stmt, [&](const Stmt& child) -> Stmt {
    absl::StatusOr<Stmt> result = Visit(simplifier, child);
    status.Update(result.status());
    return result.ok() ? *std::move(result) : child;
  });
  SMELT_RETURN_IF_ERROR(status);
  if (inner == nullptr || inner->kind != StmtKind::kFor) return inner;
  PipelinedLoop loop(simplifier, inner);
  if (!loop.IsPipelined()) return inner;
  return loop.Build();
}

}  // namespace

absl::StatusOr<ir::Function> PipelineLoops(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) {
    bool pipelined = false;
    ir::VisitStmts(phase.body,
                   [&](const ir::StmtNode& node) { pipelined |= ir::IsAnnotation(node, ir::kPipelinePiece); });
    if (!pipelined) continue;
    SMELT_ASSIGN_OR_RETURN(phase.body, Visit(context.simplifier, phase.body));
    // Those of loops that ran once and are no loops any more.
    phase.body = ir::DropAnnotations(phase.body, ir::kPipelinePiece);
  }
  return function;
}

}  // namespace smelt::kernels::lower

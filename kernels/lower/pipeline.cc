#include "kernels/lower/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/ir/access.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/copies.h"
#include "kernels/lower/pipeline_parts.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;

// One loop, taken apart.
class PipelinedLoop {
 public:
  PipelinedLoop(te::Simplifier& simplifier, const Stmt& loop, PipelineParts parts)
      : simplifier_(simplifier), loop_(*loop), parts_(std::move(parts)) {}

  absl::StatusOr<Stmt> Build() {
    int64_t extent = 0, first = 0;
    if (parts_.bare || !te::IsConstInt(loop_.extent, &extent) || !te::IsConstInt(loop_.min, &first) || first != 0)
      return absl::InternalError(absl::StrCat("loop `", loop_.var->name, "` cannot be pipelined as it is"));
    int64_t last_step = 0;
    for (const PipelinePiece& piece : parts_.pieces) last_step = std::max(last_step, piece.step);
    SMELT_RETURN_IF_ERROR(MakeCopies());
    std::stable_sort(parts_.pieces.begin(), parts_.pieces.end(),
                     [](const PipelinePiece& a, const PipelinePiece& b) { return a.order < b.order; });
    const te::Var turn(loop_.var->name);
    simplifier_.Bind(turn, {0, std::max<int64_t>(extent + last_step - 1, 0)});
    std::vector<Stmt> stmts;
    for (const PipelinePiece& piece : parts_.pieces) {
      const Expr iteration = piece.step == 0 ? Expr(turn) : turn - Expr(piece.step);
      Stmt body = piece.body;
      for (size_t i = piece.conditions.size(); i-- > 0;) body = ir::IfThen(piece.conditions[i], std::move(body));
      body = ir::Substitute(MapCopies(body), {{loop_.var, iteration}});
      if (piece.step < last_step) body = ir::IfThen(turn < Expr(extent + piece.step), std::move(body));
      if (piece.step > 0) body = ir::IfThen(turn >= Expr(piece.step), std::move(body));
      stmts.push_back(std::move(body));
    }
    Stmt result = ir::For(turn, Expr(0), Expr(extent + last_step), loop_.for_kind, ir::Seq(std::move(stmts)));
    for (size_t i = parts_.wrappers.size(); i-- > 0;) {
      const ir::StmtNode& wrapper = *parts_.wrappers[i];
      const ir::Buffer buffer = wrapper.buffer == nullptr ? nullptr : CopyOf(wrapper.buffer);
      result = wrapper.kind == StmtKind::kAllocate
                   ? ir::Allocate(buffer, std::move(result))
                   : ir::Attribute(wrapper.key, buffer, wrapper.value, std::move(result));
    }
    return result;
  }

 private:
  absl::Status MakeCopies() {
    SMELT_ASSIGN_OR_RETURN(const CopyCounts counts, CopiesNeeded(loop_, parts_));
    for (const Stmt& wrapper : parts_.wrappers) {
      const auto count = counts.find(wrapper->buffer.get());
      if (wrapper->kind != StmtKind::kAllocate || count == counts.end()) continue;
      SMELT_ASSIGN_OR_RETURN(copies_[wrapper->buffer.get()], CopiesOf(wrapper->buffer, count->second));
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
  PipelineParts parts_;
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
  PipelineParts parts = PartsOf(*inner);
  if (parts.pieces.empty()) return inner;
  return PipelinedLoop(simplifier, inner, std::move(parts)).Build();
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

#include "targets/cpu/codegen/phase_accesses.h"

#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/te/intrinsic.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::ExprKind;
using kernels::te::ExprNode;
using kernels::te::OperandRole;

class Accesses {
 public:
  explicit Accesses(const kernels::ir::Function& function) {
    for (const kernels::ir::Buffer& buffer : function.arguments) Number(buffer);
    for (const kernels::ir::Buffer& buffer : function.shared) Number(buffer);
  }

  PhaseAccesses Of(const kernels::ir::Stmt& body) {
    Walk(body);
    return {{reads_.begin(), reads_.end()}, {writes_.begin(), writes_.end()}};
  }

 private:
  void Number(const kernels::ir::Buffer& buffer) {
    numbers_.emplace(buffer.get(), static_cast<int64_t>(numbers_.size()));
  }

  void Note(const kernels::ir::BufferNode* buffer, std::set<int64_t>* into) {
    if (const auto at = numbers_.find(buffer); at != numbers_.end()) into->insert(at->second);
  }

  void Walk(const kernels::ir::Stmt& root) {
    std::vector<const kernels::ir::StmtNode*> open = {root.get()};
    while (!open.empty()) {
      const kernels::ir::StmtNode* stmt = open.back();
      open.pop_back();
      if (stmt == nullptr) continue;
      if (stmt->kind == kernels::ir::StmtKind::kStore) Note(stmt->buffer.get(), &writes_);
      for (const kernels::te::Expr& expr : {stmt->min, stmt->extent, stmt->value, stmt->predicate, stmt->condition})
        Walk(expr);
      for (const kernels::te::Expr& index : stmt->indices) Walk(index);
      open.push_back(stmt->then_case.get());
      open.push_back(stmt->else_case.get());
      for (const kernels::ir::Stmt& child : stmt->stmts) open.push_back(child.get());
    }
  }

  void Walk(const kernels::te::Expr& root) {
    if (!root) return;
    std::vector<const ExprNode*> open = {root.get()};
    while (!open.empty()) {
      const ExprNode* node = open.back();
      open.pop_back();
      if (!seen_.insert(node).second) continue;
      if (node->kind == ExprKind::kLoad) Note(node->buffer.get(), &reads_);
      if (node->kind == ExprKind::kCall) WalkCall(*node);
      for (const kernels::te::Expr& operand : node->operands) open.push_back(operand.get());
      if (node->predicate) open.push_back(node->predicate.get());
    }
  }

  void WalkCall(const ExprNode& call) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const ExprNode& operand = *call.operands[i];
      if (operand.kind != ExprKind::kAddress) continue;
      const OperandRole role = call.intrinsic->operands[i];
      if (role != OperandRole::kWrite) Note(operand.buffer.get(), &reads_);
      if (role == OperandRole::kWrite || role == OperandRole::kUpdate) Note(operand.buffer.get(), &writes_);
    }
  }

  absl::flat_hash_map<const kernels::ir::BufferNode*, int64_t> numbers_;
  absl::flat_hash_set<const ExprNode*> seen_;
  std::set<int64_t> reads_, writes_;
};

}  // namespace

PhaseAccesses AccessesOf(const kernels::ir::Function& function, const kernels::ir::Phase& phase) {
  return Accesses(function).Of(phase.body);
}

}  // namespace smelt::cpu::codegen

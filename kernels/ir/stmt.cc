#include "kernels/ir/stmt.h"

#include <utility>

namespace smelt::kernels::ir {

Stmt For(Expr var, Expr min, Expr extent, ForKind kind, Stmt body) {
  if (body == nullptr) return nullptr;
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kFor;
  node->var = std::move(var);
  node->min = std::move(min);
  node->extent = std::move(extent);
  node->for_kind = kind;
  node->then_case = std::move(body);
  return node;
}

Stmt Store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate) {
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kStore;
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->value = std::move(value);
  node->predicate = std::move(predicate);
  return node;
}

Stmt Allocate(Buffer buffer, Stmt body) {
  if (body == nullptr) return nullptr;
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kAllocate;
  node->buffer = std::move(buffer);
  node->then_case = std::move(body);
  return node;
}

Stmt IfThen(Expr condition, Stmt then_case, Stmt else_case) {
  int64_t constant = 0;
  if (te::IsConstInt(condition, &constant)) return constant != 0 ? then_case : else_case;
  if (then_case == nullptr && else_case == nullptr) return nullptr;
  if (then_case == nullptr) {
    condition = te::Unary(te::UnaryOp::kNot, std::move(condition));
    std::swap(then_case, else_case);
  }
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kIf;
  node->condition = std::move(condition);
  node->then_case = std::move(then_case);
  node->else_case = std::move(else_case);
  return node;
}

Stmt Evaluate(Expr call) {
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kEvaluate;
  node->value = std::move(call);
  return node;
}

Stmt Attribute(std::string key, Buffer buffer, Expr value, Stmt body) {
  if (body == nullptr) return nullptr;
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kAttribute;
  node->key = std::move(key);
  node->buffer = std::move(buffer);
  node->value = std::move(value);
  node->then_case = std::move(body);
  return node;
}

Stmt Seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& stmt : stmts) {
    if (stmt == nullptr) continue;
    if (stmt->kind == StmtKind::kSeq) {
      flat.insert(flat.end(), stmt->stmts.begin(), stmt->stmts.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  if (flat.empty()) return nullptr;
  if (flat.size() == 1) return std::move(flat[0]);
  auto node = std::make_shared<StmtNode>();
  node->kind = StmtKind::kSeq;
  node->stmts = std::move(flat);
  return node;
}

}  // namespace smelt::kernels::ir

#include "kernels/ir/access.h"

#include <utility>

#include "kernels/ir/mutate.h"
#include "kernels/te/intern.h"

namespace smelt::kernels::ir {

using te::ExprKind;

// Its operands and predicate are done.
Expr AccessMapper::Remapped(const Expr& e) {
  std::vector<Expr> operands;
  operands.reserve(e->operands.size());
  bool same = true;
  for (const Expr& child : e->operands) {
    operands.push_back(done_.at(child.get()).result);
    same &= operands.back().Same(child);
  }
  Expr predicate = e->predicate ? done_.at(e->predicate.get()).result : Expr();
  same &= predicate.Same(e->predicate);
  if (e->kind == ExprKind::kLoad || e->kind == ExprKind::kAddress) {
    Access access = map_(e->buffer, operands);
    if (access.buffer != nullptr) {
      return e->kind == ExprKind::kAddress
                 ? te::AddressOf(std::move(access.buffer), std::move(access.indices))
                 : te::Load(std::move(access.buffer), std::move(access.indices), std::move(predicate));
    }
  }
  return same ? e : te::Remake(*e, std::move(operands), std::move(predicate), e->init);
}

Expr AccessMapper::operator()(const Expr& root) {
  if (!root) return root;
  std::vector<std::pair<Expr, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [e, expanded] = std::move(stack.back());
    stack.pop_back();
    if (done_.contains(e.get())) continue;
    if (expanded) {
      Expr result = Remapped(e);
      done_.emplace(e.get(), Entry{e, std::move(result)});
      continue;
    }
    stack.emplace_back(e, true);
    for (const Expr& child : e->operands) stack.emplace_back(child, false);
    if (e->predicate) stack.emplace_back(e->predicate, false);
  }
  return done_.at(root.get()).result;
}

Stmt AccessMapper::operator()(const Stmt& stmt, const std::function<Buffer(const Buffer&)>& declare) {
  if (stmt == nullptr) return nullptr;
  const Stmt below = MapChildren(stmt, [&](const Stmt& child) { return (*this)(child, declare); });
  if (below == nullptr) return nullptr;
  const Stmt own = MapExprs(below, [&](const Expr& e) { return (*this)(e); });
  switch (own->kind) {
    case StmtKind::kStore: {
      Access access = map_(own->buffer, own->indices);
      if (access.buffer == nullptr) return own;
      return Store(std::move(access.buffer), std::move(access.indices), own->value, own->predicate);
    }
    case StmtKind::kAllocate:
      return declare == nullptr ? own : Allocate(declare(own->buffer), own->body());
    case StmtKind::kAttribute:
      if (declare == nullptr || own->buffer == nullptr) return own;
      return Attribute(own->key, declare(own->buffer), own->value, own->body());
    default:
      return own;
  }
}

Stmt MapAccesses(const Stmt& stmt, AccessMap map) { return AccessMapper(std::move(map))(stmt); }

Stmt RenameBuffers(const Stmt& stmt, const absl::flat_hash_map<const BufferNode*, Buffer>& names) {
  return MapAccesses(stmt, [&](const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto it = names.find(buffer.get());
    return it == names.end() ? Access{} : Access{it->second, indices};
  });
}

}  // namespace smelt::kernels::ir

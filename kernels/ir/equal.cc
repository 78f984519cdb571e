#include "kernels/ir/equal.h"

#include <utility>

#include "kernels/ir/access.h"

namespace smelt::kernels::ir {
namespace {

// What both sides declare at the same place becomes one thing of neither side's, so that nothing is captured; then
// expressions are equal where they are the same node.
class Comparison {
 public:
  bool Declare(const Buffer& a, const Buffer& b) {
    if (a->type != b->type || a->shape != b->shape || a->scope != b->scope) return false;
    const auto both = std::make_shared<const BufferNode>(*a);
    a_.buffers[a.get()] = both;
    b_.buffers[b.get()] = both;
    return true;
  }

  void Declare(const Expr& a, const Expr& b) {
    const te::Var both(a->name, a.type());
    a_.variables.emplace_back(a, both);
    b_.variables.emplace_back(b, both);
  }

  bool Same(const Expr& a, const Expr& b) const {
    if (!a || !b) return !a && !b;
    return a_.Rename(a).Same(b_.Rename(b));
  }

  bool Same(const Buffer& a, const Buffer& b) const { return a_.Rename(a) == b_.Rename(b); }

  bool Same(const Stmt& a, const Stmt& b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (a->kind != b->kind || a->stmts.size() != b->stmts.size() || a->indices.size() != b->indices.size())
      return false;
    switch (a->kind) {
      case StmtKind::kFor:
        if (a->for_kind != b->for_kind || !Same(a->min, b->min) || !Same(a->extent, b->extent)) return false;
        Declare(a->var, b->var);
        break;
      case StmtKind::kAllocate:
        if (!Declare(a->buffer, b->buffer)) return false;
        break;
      default:
        if (a->key != b->key || !Same(a->buffer, b->buffer)) return false;
    }
    for (size_t d = 0; d < a->indices.size(); ++d) {
      if (!Same(a->indices[d], b->indices[d])) return false;
    }
    if (!Same(a->value, b->value) || !Same(a->predicate, b->predicate) || !Same(a->condition, b->condition) ||
        !Same(a->then_case, b->then_case) || !Same(a->else_case, b->else_case))
      return false;
    for (size_t i = 0; i < a->stmts.size(); ++i) {
      if (!Same(a->stmts[i], b->stmts[i])) return false;
    }
    return true;
  }

 private:
  struct Side {
    std::vector<std::pair<Expr, Expr>> variables;
    absl::flat_hash_map<const BufferNode*, Buffer> buffers;

    Buffer Rename(const Buffer& buffer) const {
      const auto it = buffers.find(buffer.get());
      return it == buffers.end() ? buffer : it->second;
    }
    Expr Rename(const Expr& e) const {
      AccessMapper rename([this](const Buffer& buffer, const std::vector<Expr>& indices) {
        const auto it = buffers.find(buffer.get());
        return it == buffers.end() ? Access{} : Access{it->second, indices};
      });
      return rename(te::Substitute(e, variables));
    }
  };

  Side a_, b_;
};

}  // namespace

bool Equal(const Stmt& a, const Stmt& b) { return Comparison().Same(a, b); }

bool Equal(const Function& a, const Function& b) {
  if (a.arguments.size() != b.arguments.size() || a.input_count != b.input_count ||
      a.shared.size() != b.shared.size() || a.phases.size() != b.phases.size())
    return false;
  Comparison comparison;
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (!comparison.Declare(a.arguments[i], b.arguments[i])) return false;
  }
  for (size_t i = 0; i < a.shared.size(); ++i) {
    if (!comparison.Declare(a.shared[i], b.shared[i])) return false;
  }
  for (size_t i = 0; i < a.phases.size(); ++i) {
    const Phase &x = a.phases[i], &y = b.phases[i];
    if (x.extent != y.extent || static_cast<bool>(x.var) != static_cast<bool>(y.var)) return false;
    if (x.var) comparison.Declare(x.var, y.var);
    if (!comparison.Same(x.body, y.body)) return false;
  }
  return true;
}

}  // namespace smelt::kernels::ir

// Visiting and rebuilding expressions: always with explicit stacks, each distinct node once.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "kernels/te/buffer.h"
#include "kernels/te/expr.h"
#include "kernels/te/intern.h"
#include "kernels/te/intrinsic.h"
#include "kernels/te/rewriter.h"

namespace smelt::kernels::te {
namespace {

// Calls `f` on every expression directly below the node.
template <typename F>
void ForEachChild(const ExprNode& node, const F& f) {
  for (const Expr& e : node.operands) f(e);
  if (node.predicate) f(node.predicate);
  for (const Expr& e : node.init) f(e);
}

// Nodes that were met. Most expressions are indices of a few nodes, among which a look at each is faster than hashing.
class Seen {
 public:
  // False when it was there.
  bool Insert(const ExprNode* node) {
    if (!many_.empty()) return many_.insert(node).second;
    if (std::find(few_.begin(), few_.end(), node) != few_.end()) return false;
    few_.push_back(node);
    if (few_.size() == kFew) many_.insert(few_.begin(), few_.end());
    return true;
  }

 private:
  static constexpr size_t kFew = 24;
  absl::InlinedVector<const ExprNode*, kFew> few_;
  absl::flat_hash_set<const ExprNode*> many_;
};

bool SameExprs(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].Same(b[i])) return false;
  }
  return true;
}

}  // namespace

Expr Load(std::shared_ptr<const BufferNode> buffer, std::vector<Expr> indices, Expr predicate) {
  ExprNode node;
  node.kind = ExprKind::kLoad;
  int lanes = predicate ? predicate.type().lanes : 1;
  for (const Expr& index : indices) lanes = std::max(lanes, index.type().lanes);
  for (Expr& index : indices) {
    if (index.type().lanes != lanes) index = Splat(index, lanes);
  }
  if (predicate && predicate.type().lanes != lanes) predicate = Splat(predicate, lanes);
  const Expr bare = predicate && predicate->kind == ExprKind::kSplat ? predicate->operands[0] : predicate;
  int64_t constant = 0;
  if (bare && IsConstInt(bare, &constant) && constant != 0) predicate = Expr();
  node.type = DataType{buffer->type, lanes};
  if (bare && IsConstInt(bare, &constant) && constant == 0) {
    return hlo::IsFloat(buffer->type) ? FloatConst(node.type, 0) : IntConst(node.type, 0);
  }
  node.buffer = std::move(buffer);
  node.operands = std::move(indices);
  node.predicate = std::move(predicate);
  return Intern(std::move(node));
}

Expr AddressOf(std::shared_ptr<const BufferNode> buffer, std::vector<Expr> indices) {
  ExprNode node;
  node.kind = ExprKind::kAddress;
  node.type = DataType{buffer->type, 1};
  node.buffer = std::move(buffer);
  node.operands = std::move(indices);
  return Intern(std::move(node));
}

Expr Call(std::shared_ptr<const Intrinsic> intrinsic, std::vector<Expr> operands) {
  const absl::StatusOr<DataType> type = intrinsic->TypeOf(operands);
  Check(type.ok(), "a call whose operands do not fit its intrinsic");
  ExprNode node;
  node.kind = ExprKind::kCall;
  node.type = *type;
  node.intrinsic = std::move(intrinsic);
  node.operands = std::move(operands);
  return Intern(std::move(node));
}

Expr Remake(const ExprNode& node, std::vector<Expr> operands, Expr predicate, std::vector<Expr> init) {
  switch (node.kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
      break;
    case ExprKind::kUnary:
      return Unary(node.unary(), std::move(operands[0]));
    case ExprKind::kBinary:
      return Binary(node.binary(), std::move(operands[0]), std::move(operands[1]));
    case ExprKind::kCompare:
      return Compare(node.compare(), std::move(operands[0]), std::move(operands[1]));
    case ExprKind::kSelect:
      return Select(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]));
    case ExprKind::kIf:
      return If(std::move(operands[0]), std::move(operands[1]), std::move(operands[2]));
    case ExprKind::kCast:
      return Cast(node.type.WithLanes(operands[0].type().lanes), operands[0]);
    case ExprKind::kBitCast:
      return BitCast(node.type.WithLanes(operands[0].type().lanes), operands[0]);
    case ExprKind::kRamp:
      return Ramp(std::move(operands[0]), std::move(operands[1]), node.type.lanes);
    case ExprKind::kSplat:
      return Splat(std::move(operands[0]), node.type.lanes);
    case ExprKind::kLoad:
      return Load(node.buffer, std::move(operands), std::move(predicate));
    case ExprKind::kCall:
      return Call(node.intrinsic, std::move(operands));
    case ExprKind::kAddress:
      return AddressOf(node.buffer, std::move(operands));
    case ExprKind::kTensorRead:
    case ExprKind::kReduce: {
      ExprNode copy = node;
      copy.operands = std::move(operands);
      copy.predicate = Expr();
      copy.init = std::move(init);
      return Intern(std::move(copy));
    }
  }
  Check(false, "leaf with operands");
  return Expr();
}

Expr WithOperands(const Expr& node, std::vector<Expr> operands, Expr predicate) {
  if (operands.empty() && !predicate && node->kind != ExprKind::kTensorRead) return node;
  return Remake(*node, std::move(operands), std::move(predicate), node->init);
}

Rewriter::Rewriter(const std::vector<std::pair<Expr, Expr>>& replacements) {
  for (const auto& [var, value] : replacements) {
    done_.emplace(var.get(), value);
    roots_.push_back(var);
  }
  leaf_ = [](const Expr&) { return Expr(); };
}

Expr Rewriter::operator()(const Expr& root) {
  if (!root) return root;
  const auto known = done_.find(root.get());
  if (known != done_.end() && known->second) return known->second;
  roots_.push_back(root);
  const Expr top = root;
  stack_.push_back({&top, false});
  while (!stack_.empty()) {
    const Expr& e = *stack_.back().node;
    if (!stack_.back().expanded) {
      const auto [entry, added] = done_.try_emplace(e.get());
      if (!added && entry->second) {
        stack_.pop_back();
        continue;
      }
      if (added) {
        const bool bare = e->operands.empty() && !e->predicate && e->init.empty();
        Expr replacement = leaf_(e);
        if (!replacement && bare) replacement = e;
        if (replacement) {
          done_.at(e.get()) = std::move(replacement);
          stack_.pop_back();
          continue;
        }
      }
      stack_.back().expanded = true;
      ForEachChild(*e, [&](const Expr& child) { stack_.push_back({&child, false}); });
      continue;
    }
    stack_.pop_back();
    std::vector<Expr> operands, init;
    operands.reserve(e->operands.size());
    for (const Expr& child : e->operands) operands.push_back(done_.at(child.get()));
    for (const Expr& child : e->init) init.push_back(done_.at(child.get()));
    Expr predicate = e->predicate ? done_.at(e->predicate.get()) : Expr();
    const bool same = SameExprs(operands, e->operands) && SameExprs(init, e->init) && predicate.Same(e->predicate);
    Expr result = same ? e : Remake(*e, std::move(operands), std::move(predicate), std::move(init));
    done_.at(e.get()) = std::move(result);
  }
  return done_.at(root.get());
}

Expr Rewrite(const Expr& root, const std::function<Expr(const Expr&)>& leaf) { return Rewriter(leaf)(root); }

Expr Substitute(const Expr& e, const std::vector<std::pair<Expr, Expr>>& replacements) {
  return replacements.empty() ? e : Rewriter(replacements)(e);
}

bool VisitWhile(const Expr& root, absl::FunctionRef<bool(const Expr&)> visit) {
  if (!root) return true;
  struct Frame {
    const Expr* node;  // kept alive by what it is an operand of
    bool expanded;
  };
  const Expr top = root;
  Seen seen;
  absl::InlinedVector<Frame, 32> stack{{&top, false}};
  while (!stack.empty()) {
    const Frame frame = stack.back();
    if (frame.expanded) {
      stack.pop_back();
      if (!visit(*frame.node)) return false;
      continue;
    }
    if (!seen.Insert(frame.node->get())) {
      stack.pop_back();
      continue;
    }
    stack.back().expanded = true;
    const size_t first = stack.size();
    ForEachChild(**frame.node, [&](const Expr& child) { stack.push_back({&child, false}); });
    std::reverse(stack.begin() + first, stack.end());  // operands are visited left to right
  }
  return true;
}

void Visit(const Expr& root, absl::FunctionRef<void(const Expr&)> visit) {
  VisitWhile(root, [&](const Expr& e) {
    visit(e);
    return true;
  });
}

bool Contains(const Expr& root, absl::FunctionRef<bool(const Expr&)> is) {
  return !VisitWhile(root, [&](const Expr& e) { return !is(e); });
}

bool Mentions(const Expr& root, const Expr& node) {
  return Contains(root, [&](const Expr& e) { return e.Same(node); });
}

}  // namespace smelt::kernels::te

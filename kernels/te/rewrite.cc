// Visiting and rebuilding expressions: always with explicit stacks, each distinct node once.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
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
  for (const auto& [var, value] : replacements) done_.emplace(var.get(), Entry{var, value});
  leaf_ = [](const Expr&) { return Expr(); };
}

Expr Rewriter::operator()(const Expr& root) {
  if (!root) return root;
  stack_.push_back({root, false});
  while (!stack_.empty()) {
    Frame& top = stack_.back();
    if (!top.expanded) {
      const auto [entry, added] = done_.try_emplace(top.node.get());
      if (!added && entry->second.result) {
        stack_.pop_back();
        continue;
      }
      const Expr e = top.node;
      if (added) {
        entry->second.input = e;
        const bool bare = e->operands.empty() && !e->predicate && e->init.empty();
        Expr replacement = leaf_(e);
        if (!replacement && bare) replacement = e;
        if (replacement) {
          done_.at(e.get()).result = std::move(replacement);
          stack_.pop_back();
          continue;
        }
      }
      top.expanded = true;
      ForEachChild(*e, [&](const Expr& child) { stack_.push_back({child, false}); });
      continue;
    }
    const Expr e = std::move(top.node);
    stack_.pop_back();
    std::vector<Expr> operands, init;
    operands.reserve(e->operands.size());
    for (const Expr& child : e->operands) operands.push_back(done_.at(child.get()).result);
    for (const Expr& child : e->init) init.push_back(done_.at(child.get()).result);
    Expr predicate = e->predicate ? done_.at(e->predicate.get()).result : Expr();
    const bool same = SameExprs(operands, e->operands) && SameExprs(init, e->init) && predicate.Same(e->predicate);
    Expr result = same ? e : Remake(*e, std::move(operands), std::move(predicate), std::move(init));
    done_.at(e.get()).result = std::move(result);
  }
  return done_.at(root.get()).result;
}

Expr Rewrite(const Expr& root, const std::function<Expr(const Expr&)>& leaf) { return Rewriter(leaf)(root); }

Expr Substitute(const Expr& e, const std::vector<std::pair<Expr, Expr>>& replacements) {
  return replacements.empty() ? e : Rewriter(replacements)(e);
}

void Visit(const Expr& root, const std::function<void(const Expr&)>& visit) {
  if (!root) return;
  absl::flat_hash_set<const ExprNode*> seen;
  struct Frame {
    Expr node;
    bool expanded;
  };
  std::vector<Frame> stack{{root, false}};
  while (!stack.empty()) {
    Frame frame = stack.back();
    stack.pop_back();
    if (frame.expanded) {
      visit(frame.node);
      continue;
    }
    if (!seen.insert(frame.node.get()).second) continue;
    stack.push_back({frame.node, true});
    const size_t first = stack.size();
    ForEachChild(*frame.node, [&](const Expr& child) {
      if (!seen.contains(child.get())) stack.push_back({child, false});
    });
    std::reverse(stack.begin() + first, stack.end());  // operands are visited left to right
  }
}

}  // namespace smelt::kernels::te

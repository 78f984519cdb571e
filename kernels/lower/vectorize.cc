#include "kernels/lower/vectorize.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "kernels/ir/access.h"
#include "kernels/ir/mutate.h"
#include "kernels/te/intern.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;
using te::ExprKind;

Expr Widened(const Expr& e, int lanes) { return e.type().lanes == 1 ? te::Splat(e, lanes) : e; }

// One loop's body over all lanes at once.
class Widener {
 public:
  Widener(te::Simplifier& simplifier, const Expr& var, Expr ramp, int lanes)
      : simplifier_(simplifier), var_(var), ramp_(std::move(ramp)), lanes_(lanes) {}

  Stmt Visit(const Stmt& stmt) {
    if (stmt == nullptr) return nullptr;
    switch (stmt->kind) {
      case StmtKind::kStore:
        return WidenStore(*stmt);
      case StmtKind::kAllocate: {
        // Partition may have copied the allocation: all copies share the memo, so they share the buffer.
        ir::Buffer& buffer = expanded_[stmt->buffer.get()];
        if (buffer == nullptr) {
          ir::BufferNode wide = *stmt->buffer;
          wide.shape = {wide.ElementCount() * lanes_};
          buffer = std::make_shared<const ir::BufferNode>(std::move(wide));
        }
        const ir::Buffer kept = buffer;
        return ir::Allocate(kept, Visit(stmt->body()));
      }
      case StmtKind::kEvaluate:
        return LaneByLane(stmt);
      case StmtKind::kIf:
        // Only a call's condition may differ by lane: predicates have taken all others (lower/predicate.cc).
        if (te::Mentions(stmt->condition, var_)) return LaneByLane(stmt);
        [[fallthrough]];
      default:
        // Bounds and conditions are the same for all lanes here.
        return ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child); });
    }
  }

 private:
  // A call has no lanes.
  Stmt LaneByLane(const Stmt& stmt) {
    std::vector<Stmt> copies;
    for (int lane = 0; lane < lanes_; ++lane) {
      const Expr value = simplifier_.Simplify(ramp_->operands[0] + Expr(lane));
      // Memory that is allocated within the loop has the lanes side by side.
      const Stmt copy = ir::MapAccesses(stmt, [&](const ir::Buffer& buffer, const std::vector<Expr>& indices) {
        const auto it = expanded_.find(buffer.get());
        return it == expanded_.end() ? ir::Access{} : ir::Access{it->second, {indices[0] * Expr(lanes_) + Expr(lane)}};
      });
      copies.push_back(ir::Substitute(copy, {{var_, value}}));
    }
    return ir::Seq(std::move(copies));
  }

  // An expanded buffer holds element i of each lane side by side.
  Expr ExpandedIndex(const Expr& index) {
    return Widened(index, lanes_) * te::Splat(Expr(lanes_), lanes_) + te::Ramp(Expr(0), Expr(1), lanes_);
  }

  Stmt WidenStore(const ir::StmtNode& store) {
    Expr index = Widen(store.indices[0]);
    Expr value = Widen(store.value);
    Expr predicate = store.predicate ? Widen(store.predicate) : Expr();
    ir::Buffer buffer = store.buffer;
    if (auto it = expanded_.find(buffer.get()); it != expanded_.end()) {
      buffer = it->second;
      index = ExpandedIndex(index);
    }
    const int lanes = std::max({index.type().lanes, value.type().lanes, predicate ? predicate.type().lanes : 1});
    if (lanes == 1) return ir::Store(buffer, {index}, value, predicate);
    return ir::Store(buffer, {Widened(index, lanes)}, Widened(value, lanes),
                     predicate ? Widened(predicate, lanes) : Expr());
  }

  Expr Widen(const Expr& root) {
    std::vector<std::pair<Expr, bool>> stack{{root, false}};
    while (!stack.empty()) {
      auto [e, expanded] = stack.back();
      stack.pop_back();
      if (done_.contains(e.get())) continue;
      if (!expanded) {
        if (e.Same(var_)) {
          done_.emplace(e.get(), std::pair(e, ramp_));
          continue;
        }
        // Where the whole is linear in the lane, so is the vector: quotients need not be looked into.
        if (e.type() == te::kIndex && e->kind == ExprKind::kBinary && !ReadsExpanded(e)) {
          Expr base;
          int64_t stride;
          if (simplifier_.SplitLinear(e, var_, &base, &stride)) {
            const Expr first = simplifier_.Simplify(base + ramp_->operands[0] * Expr(stride));
            done_.emplace(e.get(), std::pair(e, stride == 0 ? e : te::Ramp(first, Expr(stride), lanes_)));
            continue;
          }
        }
        stack.emplace_back(e, true);
        for (const Expr& child : e->operands) stack.emplace_back(child, false);
        if (e->predicate) stack.emplace_back(e->predicate, false);
        continue;
      }
      done_.emplace(e.get(), std::pair(e, Rebuild(e)));
    }
    return done_.at(root.get()).second;
  }

  bool ReadsExpanded(const Expr& root) const {
    if (expanded_.empty()) return false;
    return te::Contains(
        root, [&](const Expr& e) { return e->kind == ExprKind::kLoad && expanded_.contains(e->buffer.get()); });
  }

  Expr Rebuild(const Expr& e) {
    std::vector<Expr> operands;
    bool vector = false, same = true;
    for (const Expr& child : e->operands) {
      operands.push_back(done_.at(child.get()).second);
      vector |= operands.back().type().lanes > 1;
      same &= operands.back().Same(child);
    }
    Expr predicate = e->predicate ? done_.at(e->predicate.get()).second : Expr();
    if (predicate) {
      vector |= predicate.type().lanes > 1;
      same &= predicate.Same(e->predicate);
    }
    if (e->kind == ExprKind::kLoad) {
      if (auto it = expanded_.find(e->buffer.get()); it != expanded_.end())
        return te::Load(it->second, {ExpandedIndex(operands[0])}, std::move(predicate));
    }
    if (same) return e;
    if (vector && e->kind != ExprKind::kLoad) {
      for (Expr& operand : operands) operand = Widened(operand, lanes_);
    }
    return te::Remake(*e, std::move(operands), std::move(predicate), {});
  }

  te::Simplifier& simplifier_;
  const Expr var_, ramp_;
  const int lanes_;
  absl::flat_hash_map<const ir::BufferNode*, ir::Buffer> expanded_;
  absl::flat_hash_map<const te::ExprNode*, std::pair<Expr, Expr>> done_;
};

Stmt Vectorize(te::Simplifier& simplifier, const Stmt& stmt) {
  if (stmt == nullptr) return nullptr;
  // Inner ones first, although a nest has only one: an attached stage may have its own inside.
  const Stmt inner = ir::MapChildren(stmt, [&](const Stmt& child) { return Vectorize(simplifier, child); });
  if (inner == nullptr || inner->kind != StmtKind::kFor || inner->for_kind != ir::ForKind::kVectorized) return inner;
  int64_t extent = 0;
  te::IsConstInt(inner->extent, &extent);
  bool has_vector = false;
  ir::VisitStmts(inner->body(), [&](const ir::StmtNode& node) {
    if (node.kind == StmtKind::kStore) has_vector |= node.value.type().lanes > 1;
  });
  // Vectors of vectors do not exist: the outer loop stays one.
  if (has_vector || extent < 2)
    return ir::For(inner->var, inner->min, inner->extent, ir::ForKind::kSerial, inner->body());
  const int lanes = static_cast<int>(extent);
  return Widener(simplifier, inner->var, te::Ramp(inner->min, Expr(1), lanes), lanes).Visit(inner->body());
}

}  // namespace

absl::StatusOr<ir::Function> VectorizeLoops(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) phase.body = Vectorize(context.simplifier, phase.body);
  return function;
}

}  // namespace smelt::kernels::lower

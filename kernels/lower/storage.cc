#include "kernels/lower/storage.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/ir/access.h"
#include "kernels/ir/mutate.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::lower {
namespace {

using ir::BufferNode;
using ir::StmtKind;
using te::ExprKind;

using BufferSet = absl::flat_hash_set<const BufferNode*>;

// Visits every load below an expression and every address that a call reads or writes at, each distinct node once over
// all calls.
class LoadVisitor {
 public:
  template <typename F>
  void Visit(const Expr& root, const F& visit) {
    stack_.assign(1, root.get());
    while (!stack_.empty()) {
      const te::ExprNode* node = stack_.back();
      stack_.pop_back();
      if (node->operands.empty() || !seen_.insert(node).second) continue;
      if (node->kind == ExprKind::kLoad) visit(*node);
      for (size_t i = 0; i < node->operands.size(); ++i) {
        const Expr& child = node->operands[i];
        if (child->kind == ExprKind::kAddress && node->intrinsic->operands[i] != te::OperandRole::kHint) visit(*child);
        stack_.push_back(child.get());
      }
      if (node->predicate) stack_.push_back(node->predicate.get());
    }
  }

 private:
  absl::flat_hash_set<const te::ExprNode*> seen_;
  std::vector<const te::ExprNode*> stack_;
};

// The buffers that are read. An accumulator that only its own updates read is not.
BufferSet ReadBuffers(const ir::Function& function) {
  BufferSet read;
  absl::flat_hash_map<const BufferNode*, LoadVisitor> visitors;  // by the buffer that the statement stores to
  for (const ir::Phase& phase : function.phases) {
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& node) {
      LoadVisitor& visitor = visitors[node.buffer.get()];
      ir::ForEachExpr(node, [&](const Expr& root) {
        visitor.Visit(root, [&](const te::ExprNode& load) {
          if (load.buffer != node.buffer) read.insert(load.buffer.get());
        });
      });
    });
  }
  return read;
}

// Drops stores to scratch that nothing reads, with its allocation.
Stmt RemoveDead(const Stmt& stmt, const BufferSet& read, bool* changed) {
  if (stmt == nullptr) return nullptr;
  const auto dead = [&](const ir::Buffer& buffer) {
    return buffer->scope.allocator != te::Allocator::kCaller && !read.contains(buffer.get());
  };
  if (stmt->kind == StmtKind::kStore && dead(stmt->buffer)) {
    *changed = true;
    return nullptr;
  }
  if (stmt->kind == StmtKind::kEvaluate) {
    // Only a hint can be about memory that nothing reads.
    const bool hint =
        te::Contains(stmt->value, [&](const Expr& e) { return e->kind == ExprKind::kAddress && dead(e->buffer); });
    *changed |= hint;
    return hint ? nullptr : stmt;
  }
  if (stmt->kind == StmtKind::kAllocate && dead(stmt->buffer)) {
    *changed = true;
    return RemoveDead(stmt->body(), read, changed);
  }
  return ir::MapChildren(stmt, [&](const Stmt& child) { return RemoveDead(child, read, changed); });
}

void Mentioned(const Stmt& stmt, BufferSet* buffers) {
  LoadVisitor visitor;
  ir::VisitStmts(stmt, [&](const ir::StmtNode& node) {
    if (node.kind == StmtKind::kStore) buffers->insert(node.buffer.get());
    ir::ForEachExpr(node, [&](const Expr& root) {
      visitor.Visit(root, [&](const te::ExprNode& load) { buffers->insert(load.buffer.get()); });
    });
  });
}

// One allocation per chain of Allocate nodes above a sequence: a buffer whose last use lies before the first use of
// another of the same scope and type lends it its memory.
Stmt ShareAllocations(const Stmt& stmt) {
  if (stmt == nullptr) return nullptr;
  const Stmt own = ir::MapChildren(stmt, ShareAllocations);
  if (own == nullptr || own->kind != StmtKind::kAllocate) return own;
  // Allocations at one level: this one and those directly within, each possibly after some statements.
  std::vector<ir::Buffer> buffers;
  std::vector<Stmt> stmts;
  Stmt at = own;
  while (at != nullptr) {
    if (at->kind == StmtKind::kAllocate) {
      buffers.push_back(at->buffer);
      at = at->body();
    } else if (at->kind == StmtKind::kSeq && at->stmts.back()->kind == StmtKind::kAllocate) {
      stmts.insert(stmts.end(), at->stmts.begin(), at->stmts.end() - 1);
      at = at->stmts.back();
    } else if (at->kind == StmtKind::kSeq) {
      stmts.insert(stmts.end(), at->stmts.begin(), at->stmts.end());
      at = nullptr;
    } else {
      stmts.push_back(at);
      at = nullptr;
    }
  }
  if (buffers.size() < 2) return own;
  struct Life {
    int first = -1, last = -1;
  };
  absl::flat_hash_map<const BufferNode*, Life> lives;
  for (size_t i = 0; i < stmts.size(); ++i) {
    BufferSet mentioned;
    Mentioned(stmts[i], &mentioned);
    for (const ir::Buffer& buffer : buffers) {
      if (!mentioned.contains(buffer.get())) continue;
      Life& life = lives[buffer.get()];
      if (life.first < 0) life.first = static_cast<int>(i);
      life.last = static_cast<int>(i);
    }
  }
  struct Slot {
    BufferNode node;
    int last;
    std::vector<const BufferNode*> members;
  };
  std::vector<Slot> slots;
  for (const ir::Buffer& buffer : buffers) {
    const Life life = lives[buffer.get()];
    if (life.first < 0) continue;  // unused
    Slot* free = nullptr;
    for (Slot& slot : slots) {
      if (buffer->scope.allocator == te::Allocator::kWorker && slot.node.scope == buffer->scope &&
          slot.node.type == buffer->type && slot.last < life.first)
        free = &slot;
    }
    if (free == nullptr) {
      slots.push_back({*buffer, life.last, {buffer.get()}});
      continue;
    }
    free->node.shape = {std::max(free->node.ElementCount(), buffer->ElementCount())};
    free->last = life.last;
    free->members.push_back(buffer.get());
  }
  if (slots.size() == buffers.size()) return own;
  absl::flat_hash_map<const BufferNode*, ir::Buffer> names;
  std::vector<ir::Buffer> shared;
  for (Slot& slot : slots) {
    shared.push_back(std::make_shared<const BufferNode>(std::move(slot.node)));
    for (const BufferNode* member : slot.members) names.emplace(member, shared.back());
  }
  Stmt body = ir::RenameBuffers(ir::Seq(std::move(stmts)), names);
  for (size_t i = shared.size(); i-- > 0;) body = ir::Allocate(shared[i], std::move(body));
  return body;
}

}  // namespace

absl::StatusOr<ir::Function> ReuseStorage(ir::Function function, PassContext&) {
  bool scratch = !function.shared.empty();
  for (const ir::Phase& phase : function.phases) {
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& node) { scratch |= node.kind == StmtKind::kAllocate; });
  }
  if (!scratch) return function;
  bool changed = true;
  while (changed) {
    changed = false;
    const BufferSet read = ReadBuffers(function);
    for (ir::Phase& phase : function.phases) phase.body = RemoveDead(phase.body, read, &changed);
  }
  BufferSet used;
  for (ir::Phase& phase : function.phases) {
    phase.body = ShareAllocations(phase.body);
    Mentioned(phase.body, &used);
  }
  std::erase_if(function.shared, [&](const ir::Buffer& buffer) { return !used.contains(buffer.get()); });
  return function;
}

}  // namespace smelt::kernels::lower

#include "kernels/te/intern.h"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::te {
namespace {

struct Shard {
  std::mutex mutex;
  absl::flat_hash_map<Hash128, std::weak_ptr<const ExprNode>> nodes;
};

constexpr int kShards = 64;

// Never destroyed: expressions in static storage may outlive any other order.
Shard& ShardOf(const Hash128& hash) {
  static auto* shards = new std::array<Shard, kShards>;
  return (*shards)[hash.high % kShards];
}

// Nodes that wait for destruction while one is being destroyed on this thread.
thread_local std::vector<std::shared_ptr<const void>>* pending_destruction = nullptr;

struct InternedNode : ExprNode {
  explicit InternedNode(ExprNode fields) : ExprNode(std::move(fields)) {}
  ~InternedNode();
};

void Defer(std::vector<Expr>& expressions, std::vector<std::shared_ptr<const void>>* list) {
  for (Expr& e : expressions) {
    if (e.shared().use_count() == 1) list->push_back(e.shared());
  }
  expressions.clear();
}

InternedNode::~InternedNode() {
  if (kind != ExprKind::kVar) {
    Shard& shard = ShardOf(hash);
    std::lock_guard<std::mutex> lock(shard.mutex);
    auto it = shard.nodes.find(hash);
    // Another thread may have made the node anew in the meantime.
    if (it != shard.nodes.end() && it->second.expired()) shard.nodes.erase(it);
  }
  const bool outermost = pending_destruction == nullptr;
  std::vector<std::shared_ptr<const void>> list;
  if (outermost) pending_destruction = &list;
  Defer(operands, pending_destruction);
  Defer(init, pending_destruction);
  Defer(reduce_axes, pending_destruction);
  if (predicate) pending_destruction->push_back(predicate.shared());
  predicate = Expr();
  if (tensor) pending_destruction->push_back(std::move(tensor));
  if (combiner) pending_destruction->push_back(std::move(combiner));
  if (outermost) {
    while (!list.empty()) {
      std::shared_ptr<const void> last = std::move(list.back());
      list.pop_back();
      last.reset();  // may append to list
    }
    pending_destruction = nullptr;
  }
}

// Two independent 64-bit mixes; every word goes through both.
class Mixer {
 public:
  void Add(uint64_t word) {
    a_ = (a_ ^ word) * 0x9E3779B97F4A7C15;
    a_ ^= a_ >> 29;
    b_ = (b_ + word) * 0xD6E8FEB86659FD93;
    b_ ^= std::rotr(b_, 31);
  }
  void Add(const Expr& e) {
    if (!e) return Add(0x51ED270B);
    Add(e->hash.high);
    Add(e->hash.low);
  }
  void Add(const void* pointer) { Add(std::bit_cast<uintptr_t>(pointer)); }
  void Add(const std::vector<Expr>& list) {
    Add(list.size());
    for (const Expr& e : list) Add(e);
  }
  Hash128 Finish() const {
    Hash128 hash{a_, b_};
    hash.high = (hash.high ^ hash.high >> 32) * 0xFF51AFD7ED558CCD;
    hash.low = (hash.low ^ hash.low >> 33) * 0xC4CEB9FE1A85EC53;
    hash.high ^= hash.high >> 31;
    hash.low ^= hash.low >> 29;
    return hash;
  }

 private:
  uint64_t a_ = 0x243F6A8885A308D3;
  uint64_t b_ = 0x13198A2E03707344;
};

Hash128 HashOf(const ExprNode& node) {
  Mixer mixer;
  mixer.Add(static_cast<uint64_t>(node.kind) | static_cast<uint64_t>(node.type.element) << 8 |
            static_cast<uint64_t>(node.op) << 16 | static_cast<uint64_t>(node.type.lanes) << 24);
  mixer.Add(static_cast<uint64_t>(node.int_value));
  mixer.Add(std::bit_cast<uint64_t>(node.float_value));
  mixer.Add(node.operands);
  if (node.kind == ExprKind::kTensorRead) mixer.Add(node.tensor.get());
  if (node.kind == ExprKind::kLoad) {
    mixer.Add(static_cast<const void*>(node.buffer.get()));
    mixer.Add(node.predicate);
  }
  if (node.kind == ExprKind::kAddress) mixer.Add(static_cast<const void*>(node.buffer.get()));
  if (node.kind == ExprKind::kCall) {
    const Hash128 name = smelt::HashOf(node.intrinsic->name);
    mixer.Add(name.high);
    mixer.Add(name.low);
  }
  if (node.kind == ExprKind::kReduce) {
    mixer.Add(static_cast<const void*>(node.combiner.get()));
    mixer.Add(node.reduce_axes);
    for (int64_t extent : node.reduce_extents) mixer.Add(static_cast<uint64_t>(extent));
    mixer.Add(node.init);
  }
  return mixer.Finish();
}

}  // namespace

Expr Intern(ExprNode fields) {
  if (fields.kind == ExprKind::kVar) {
    static std::atomic<int64_t> next_id{1};
    fields.int_value = next_id.fetch_add(1, std::memory_order_relaxed);
    fields.hash = HashOf(fields);
    return Expr(std::make_shared<const InternedNode>(std::move(fields)));
  }
  fields.hash = HashOf(fields);
  Shard& shard = ShardOf(fields.hash);
  std::lock_guard<std::mutex> lock(shard.mutex);
  std::weak_ptr<const ExprNode>& entry = shard.nodes[fields.hash];
  if (std::shared_ptr<const ExprNode> found = entry.lock()) return Expr(std::move(found));
  std::shared_ptr<const ExprNode> made = std::make_shared<const InternedNode>(std::move(fields));
  entry = made;
  return Expr(std::move(made));
}

}  // namespace smelt::kernels::te

#include "fusion/partition.h"

#include <algorithm>

#include "base/check.h"

namespace smelt::fusion {

Partition::Partition(const Space& space, bool hashes)
    : space_(&space), graph_(space.graph()), rules_(space.rules()), hashes_(hashes), config_(space.size()) {
  const int32_t nodes = static_cast<int32_t>(graph_.nodes().size());
  const size_t edges = graph_.edges().size();
  edge_on_.assign(edges, 0);
  edge_scratch_.assign(edges, 0);
  edge_before_.assign(edges, 0);
  unfused_.resize(nodes);
  base_inputs_.resize(nodes);
  up_.resize(nodes);
  down_.resize(nodes);
  kernel_of_.assign(nodes, -1);
  up_logged_.assign(nodes, 0);
  down_logged_.assign(nodes, 0);
  up_queue_.Resize(nodes);
  down_queue_.Resize(nodes);
  for (Marks* marks : {&computed_, &read_}) {
    marks->seen.assign(nodes, 0);
    marks->number.assign(nodes, 0);
  }
  for (int32_t n = 0; n < nodes; ++n) {
    const Node& node = graph_.node(n);
    unfused_[n] = node.fixed_uses + static_cast<int32_t>(graph_.out_edges(node).size());
    const uint32_t stamp = NextStamp(&read_);
    for (const Slot& slot : graph_.slots(node)) {
      if (slot.source < 0 || read_.seen[slot.source] == stamp) continue;
      read_.seen[slot.source] = stamp;
      ++base_inputs_[n];
    }
    up_[n] = Alone(n);
    if (!IsRoot(n)) continue;
    AddRoot(n, &down_[n]);
    const int32_t slot = NewSlot();
    kernels_[slot].outputs = {n};
    if (hashes_) kernels_[slot].hash = HashOf(kernels_[slot].outputs);
    kernel_of_[n] = slot;
  }
  kernel_count_ = static_cast<int64_t>(kernels_.size());
}

bool Partition::IsRoot(int32_t n) const {
  const Node& node = graph_.node(n);
  if (!node.live) return false;
  switch (node.role) {
    case Role::kOutside:
      return false;
    case Role::kOpaque:
      return true;
    case Role::kFree:
      return node.fixed_uses > 0 && node.instruction->opcode() != hlo::Opcode::kConstant;
    default:
      return unfused_[n] > 0;
  }
}

void Partition::FlipBit(int32_t decision) {
  config_.Flip(decision);
  flipped_.push_back(decision);
}

void Partition::SetEdge(int32_t e, bool on) {
  if (static_cast<bool>(edge_on_[e]) == on) return;
  if (edge_before_[e] == 0) {
    edge_before_[e] = static_cast<uint8_t>(1 + edge_on_[e]);
    touched_edges_.push_back(e);
  }
  FlipBit(space_->DecisionOfEdge(e));
  edge_on_[e] = on;
  const Edge& edge = graph_.edge(e);
  unfused_[edge.producer] += on ? -1 : 1;
  up_queue_.Push(edge.consumer, edge.consumer);
  down_queue_.Push(-edge.producer, edge.producer);
}

void Partition::DropEdge(int32_t e, Reason reason) {
  dropped_.push_back({space_->DecisionOfEdge(e), reason});
  SetEdge(e, false);
}

void Partition::BeginChange() {
  ++change_;
  for (int32_t slot : removed_) free_slots_.push_back(slot);
  removed_.clear();
  added_.clear();
  flipped_.clear();
  dropped_.clear();
  old_up_.clear();
  old_down_.clear();
  old_scratch_.clear();
  undoable_ = true;
}

void Partition::Change(absl::Span<const int32_t> flips) {
  BeginChange();
  absl::InlinedVector<int32_t, 8> merges;
  for (int32_t d : flips) {
    const Decision& decision = space_->decision(d);
    if (decision.kind == DecisionKind::kEdge) {
      SetEdge(decision.edge, !edge_on_[decision.edge]);
    } else {
      FlipBit(d);
      merges.push_back(d);
    }
  }
  LegaliseEdges();
  Regroup(merges);
  for (int32_t e : touched_edges_) edge_before_[e] = 0;
  touched_edges_.clear();
}

void Partition::Undo() {
  Check(undoable_, "a change can be undone once");
  undoable_ = false;
  for (int32_t d : flipped_) {  // twice flipped bits end where they began
    config_.Flip(d);
    const Decision& decision = space_->decision(d);
    if (decision.kind != DecisionKind::kEdge) continue;
    edge_on_[decision.edge] ^= 1;
    unfused_[decision.first] += edge_on_[decision.edge] ? -1 : 1;
  }
  for (const auto& [n, up] : old_up_) up_[n] = up;
  for (const auto& [n, down] : old_down_) down_[n] = down;
  for (auto it = old_scratch_.rbegin(); it != old_scratch_.rend(); ++it) edge_scratch_[it->first] = it->second;
  for (int32_t slot : added_) {
    for (int32_t n : kernels_[slot].outputs) kernel_of_[n] = -1;
    kernels_[slot].alive = false;
    free_slots_.push_back(slot);
  }
  for (int32_t slot : removed_) {
    for (int32_t n : kernels_[slot].outputs) kernel_of_[n] = slot;
    kernels_[slot].alive = true;
  }
  kernel_count_ += static_cast<int64_t>(removed_.size()) - static_cast<int64_t>(added_.size());
  removed_.clear();
  added_.clear();
  flipped_.clear();
}

Reason Partition::WhyNot(int32_t decision) {
  if (config_.Get(decision)) return Reason::kLegal;
  const int32_t flips[] = {decision};
  Change(flips);
  Reason reason = Reason::kNotChosen;
  if (!config_.Get(decision)) {
    for (const Dropped& dropped : dropped_) {
      if (dropped.decision == decision) reason = dropped.reason;
    }
  }
  Undo();
  return reason;
}

uint32_t Partition::NextStamp(Marks* marks) {
  if (++marks->stamp == 0) {  // after four billion uses
    std::fill(marks->seen.begin(), marks->seen.end(), 0);
    marks->stamp = 1;
  }
  return marks->stamp;
}

void Partition::Queue::Push(int32_t key, int32_t node) {
  if (waiting_[node]) return;
  waiting_[node] = 1;
  heap_.push_back({key, node});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

int32_t Partition::Queue::Pop() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const int32_t node = heap_.back().second;
  heap_.pop_back();
  waiting_[node] = 0;
  return node;
}

}  // namespace smelt::fusion

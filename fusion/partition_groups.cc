// Step 4 of legalisation: kernels with several outputs; and what a kernel holds (see partition.h).
#include <algorithm>
#include <utility>

#include "fusion/instruction_hash.h"
#include "fusion/partition.h"

namespace smelt::fusion {
namespace {

// XLA writes all results of a loop fusion in one loop, at one place in memory each.
bool SameLoop(const hlo::Instruction& a, const hlo::Instruction& b) {
  if (a.shape().dimensions != b.shape().dimensions) return false;
  if (a.shape().HasDefaultLayout() && b.shape().HasDefaultLayout()) return true;
  return a.shape().layout && b.shape().layout && a.shape().layout->minor_to_major == b.shape().layout->minor_to_major;
}

}  // namespace

// The output nodes of the two kernels that a share or sibling decision joins. A node that is no output leads to the
// kernel of the first consumer that it is fused into, and so on.
std::pair<int32_t, int32_t> Partition::RootsOf(int32_t d) const {
  const Decision& decision = space_->decision(d);
  const auto first_consumer = [&](int32_t n) {
    for (int32_t e : graph_.out_edges(graph_.node(n))) {
      if (edge_on_[e]) return graph_.edge(e).consumer;
    }
    return -1;
  };
  const auto root_below = [&](int32_t n) {
    while (n >= 0 && !IsRoot(n)) n = first_consumer(n);
    return n;
  };
  std::pair<int32_t, int32_t> roots;
  if (decision.kind == DecisionKind::kShare) {
    if (!IsRoot(decision.first)) return {-1, -1};
    roots = {decision.first, root_below(first_consumer(decision.first))};
  } else {
    roots = {root_below(decision.first), root_below(decision.second)};
  }
  if (roots.first < 0 || roots.second < 0 || roots.first == roots.second) return {-1, -1};
  return roots;
}

// Whether one kernel may have all these outputs. Everything it reads must lie on a lower level than its first output:
// ordering kernels by that level, each reads only from kernels before it, so no cycle can close anywhere.
Reason Partition::MergeRule(absl::Span<const int32_t> outputs) {
  int32_t level = INT32_MAX;
  int64_t rows = 0;
  Exact exact;
  for (int32_t n : outputs) {
    const Node& node = graph_.node(n);
    if (!IsLoopNest(node.role)) return Reason::kOpaque;
    if (node.ordered) return Reason::kOrder;
    if (node.tuple_result) return Reason::kTupleResult;
    if (node.dynamic_update) return Reason::kInPlace;
    if (up_[n].contraction >= 0) return Reason::kContractionOutputs;
    if (up_[n].domain != up_[outputs[0]].domain) return Reason::kShapes;
    if (rules_.max_evaluations > 0 && !SameLoop(*node.instruction, *graph_.node(outputs[0]).instruction))
      return Reason::kShapes;
    if (up_[n].rows != 0) {
      if (rows != 0 && rows != up_[n].rows) return Reason::kReductionRows;
      rows = up_[n].rows;
    }
    level = std::min(level, node.level);
    exact.scratch += up_[n].scratch;
  }
  const uint32_t computed = NextStamp(&computed_);
  const uint32_t read = NextStamp(&read_);
  stack_.assign(outputs.begin(), outputs.end());
  for (int32_t n : outputs) computed_.seen[n] = computed;
  while (!stack_.empty()) {
    const Node& node = graph_.node(stack_.back());
    stack_.pop_back();
    exact.code += node.code;
    exact.reductions += node.role == Role::kReduction;
    for (const Slot& slot : graph_.slots(node)) {
      if (slot.source < 0) continue;
      if (slot.edge >= 0 && edge_on_[slot.edge]) {
        if (computed_.seen[slot.source] == computed) continue;
        computed_.seen[slot.source] = computed;
        stack_.push_back(slot.source);
        continue;
      }
      if (graph_.node(slot.source).level >= level) return Reason::kCycle;
      exact.inputs += read_.seen[slot.source] != read;
      read_.seen[slot.source] = read;
    }
  }
  if (exact.inputs + static_cast<int32_t>(outputs.size()) > rules_.max_operands_and_outputs) {
    return Reason::kOperandLimit;
  }
  if (exact.code > rules_.max_instructions) return Reason::kCodeLimit;
  if (exact.reductions > rules_.max_reductions) return Reason::kReductionLimit;
  if (exact.scratch > rules_.max_scratch_bytes) return Reason::kScratchLimit;
  if (rules_.max_evaluations > 0 && EvaluationsExceed(outputs, INT32_MAX)) return Reason::kEvaluations;
  return Reason::kLegal;
}

void Partition::Regroup(absl::Span<const int32_t> flipped_merges) {
  // Outputs of kernels, and merges, that have to be looked at again.
  Regrouping again;
  DissolveWhatEdgesReach(&again);
  for (int32_t d : flipped_merges) {
    if (config_.Get(d)) again.merges.push_back(d);
    DissolveEnds(d, &again);  // what it joined or would join; switched off, its kernel still lists it
  }
  // Merges may lead to further kernels, whose merges count as well.
  for (size_t i = 0; i < again.merges.size(); ++i) DissolveEnds(again.merges[i], &again);
  const auto sort_once = [](std::vector<int32_t>* list) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  };
  sort_once(&again.roots);
  sort_once(&again.merges);

  for (int32_t n : again.roots) {
    const int32_t slot = NewSlot();
    kernels_[slot].outputs = {n};
    kernel_of_[n] = slot;
    added_.push_back(slot);
  }
  bool joined = false;
  for (int32_t d : again.merges) joined = (config_.Get(d) && JoinKernels(d)) || joined;
  if (joined) {
    auto dead = std::stable_partition(added_.begin(), added_.end(), [&](int32_t s) { return kernels_[s].alive; });
    free_slots_.insert(free_slots_.end(), dead, added_.end());
    added_.erase(dead, added_.end());
    for (int32_t slot : added_) std::sort(kernels_[slot].merges.begin(), kernels_[slot].merges.end());
  }
  if (hashes_) {
    for (int32_t slot : added_) kernels_[slot].hash = HashOf(kernels_[slot].outputs);
    DropUnchanged();
  }
  kernel_count_ += static_cast<int64_t>(added_.size()) - static_cast<int64_t>(removed_.size());
}

void Partition::Dissolve(int32_t slot, Regrouping* again) {
  KernelSlot& kernel = kernels_[slot];
  if (!kernel.alive) return;
  kernel.alive = false;
  removed_.push_back(slot);
  for (int32_t n : kernel.outputs) {
    kernel_of_[n] = -1;
    if (IsRoot(n)) again->roots.push_back(n);
  }
  again->merges.insert(again->merges.end(), kernel.merges.begin(), kernel.merges.end());
}

void Partition::DissolveAt(int32_t n, Regrouping* again) {
  if (kernel_of_[n] >= 0) {
    Dissolve(kernel_of_[n], again);
  } else if (IsRoot(n)) {
    again->roots.push_back(n);
  }
}

void Partition::DissolveEnds(int32_t merge, Regrouping* again) {
  const auto [first, second] = RootsOf(merge);
  if (first >= 0 && kernel_of_[first] >= 0) Dissolve(kernel_of_[first], again);
  if (second >= 0 && kernel_of_[second] >= 0) Dissolve(kernel_of_[second], again);
}

void Partition::DissolveWhatEdgesReach(Regrouping* again) {
  const uint32_t reached = NextStamp(&computed_);
  stack_.clear();
  const auto reach = [&](int32_t n) {
    if (computed_.seen[n] == reached) return;
    computed_.seen[n] = reached;
    stack_.push_back(n);
  };
  const uint32_t led = NextStamp(&read_);
  for (int32_t e : touched_edges_) {
    if (edge_on_[e] == edge_before_[e] - 1) continue;
    const int32_t producer = graph_.edge(e).producer;
    DissolveAt(producer, again);
    reach(graph_.edge(e).consumer);
    if (read_.seen[producer] == led) continue;
    read_.seen[producer] = led;
    // Merges find kernels through first consumers: where that is another one now, the old way may lead elsewhere.
    for (int32_t out : graph_.out_edges(graph_.node(producer))) {
      const bool before = edge_before_[out] != 0 ? edge_before_[out] - 1 : edge_on_[out];
      if (before) {
        reach(graph_.edge(out).consumer);
        break;
      }
    }
  }
  while (!stack_.empty()) {
    const int32_t n = stack_.back();
    stack_.pop_back();
    DissolveAt(n, again);
    for (int32_t e : graph_.out_edges(graph_.node(n))) {
      if (edge_on_[e]) reach(graph_.edge(e).consumer);
    }
  }
}

bool Partition::JoinKernels(int32_t merge) {
  const auto [first, second] = RootsOf(merge);
  const int32_t a = first < 0 ? -1 : kernel_of_[first];
  const int32_t b = second < 0 ? -1 : kernel_of_[second];
  Reason reason = Reason::kInactive;
  absl::InlinedVector<int32_t, 8> outputs;
  if (a != b) {
    outputs.assign(kernels_[a].outputs.begin(), kernels_[a].outputs.end());
    outputs.insert(outputs.end(), kernels_[b].outputs.begin(), kernels_[b].outputs.end());
    std::sort(outputs.begin(), outputs.end());
    reason = MergeRule(outputs);
  }
  if (reason != Reason::kLegal) {
    dropped_.push_back({merge, reason});
    FlipBit(merge);
    return false;
  }
  KernelSlot& kernel = kernels_[a];
  kernel.outputs.assign(outputs.begin(), outputs.end());
  kernel.merges.insert(kernel.merges.end(), kernels_[b].merges.begin(), kernels_[b].merges.end());
  kernel.merges.push_back(merge);
  for (int32_t n : kernels_[b].outputs) kernel_of_[n] = a;
  kernels_[b].alive = false;
  kernels_[b].outputs.clear();
  return true;
}

// A kernel that was dissolved and came back as it was did not change.
void Partition::DropUnchanged() {
  size_t kept = 0;
  for (size_t i = 0; i < removed_.size(); ++i) {
    const int32_t old = removed_[i];
    KernelSlot& before = kernels_[old];
    const int32_t now = kernel_of_[before.outputs[0]];
    if (now >= 0 && kernels_[now].hash == before.hash && kernels_[now].outputs == before.outputs &&
        kernels_[now].merges == before.merges) {
      kernels_[now].alive = false;
      free_slots_.push_back(now);
      added_.erase(std::find(added_.begin(), added_.end(), now));
      before.alive = true;
      for (int32_t n : before.outputs) kernel_of_[n] = old;
      continue;
    }
    removed_[kept++] = old;
  }
  removed_.resize(kept);
}

int32_t Partition::NewSlot() {
  int32_t slot = static_cast<int32_t>(kernels_.size());
  if (free_slots_.empty()) {
    kernels_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  kernels_[slot].outputs.clear();
  kernels_[slot].merges.clear();
  kernels_[slot].alive = true;
  return slot;
}

void Partition::Body(int32_t slot, KernelBody* body) { BuildBody(kernels_[slot].outputs, body); }

// Depth first from the outputs. A bitcast may stand in a kernel twice, over its source as computed inside and over its
// source as read from memory: a node's two kinds of value have marks of their own.
void Partition::BuildBody(absl::Span<const int32_t> outputs, KernelBody* body) {
  body->values.clear();
  body->operands.clear();
  body->outputs.clear();
  body->parameter_count = 0;
  const uint32_t computed = NextStamp(&computed_);
  const uint32_t read = NextStamp(&read_);
  // Whether the operand's value is made inside, given whether the value that reads it is.
  const auto is_computed = [&](const Node& node, bool node_computed, const Slot& slot) {
    if (node.role == Role::kOpaque)
      return graph_.node(slot.top).instruction->opcode() == hlo::Opcode::kConstant &&
             graph_.node(slot.top).role == Role::kFree;
    if (slot.source < 0) return true;
    if (node.role == Role::kFree) return node_computed;
    return slot.edge >= 0 && edge_on_[slot.edge] != 0;
  };
  const auto number_of = [&](int32_t n, bool inside) { return inside ? computed_.number[n] : read_.number[n]; };
  // A value that copies one of its operands has this in front of it, made inside or not; others that are not made
  // inside are parameters.
  const auto is_rider = [&](const Node& node) {
    const absl::Span<const Slot> slots = graph_.slots(node);
    return node.role == Role::kFree && !slots.empty() && slots[0].source >= 0;
  };
  // Whether there are operands to look at first. Key: twice the node, plus one where it is computed from values made
  // inside.
  const auto open = [&](int32_t n, bool inside) {
    Marks& marks = inside ? computed_ : read_;
    const uint32_t stamp = inside ? computed : read;
    if (marks.seen[n] == stamp) return false;
    marks.seen[n] = stamp;
    if (!inside && !is_rider(graph_.node(n))) {
      const int32_t none = static_cast<int32_t>(body->operands.size());
      read_.number[n] = static_cast<int32_t>(body->values.size());
      body->values.push_back({n, true, none, none});
      ++body->parameter_count;
      return false;
    }
    body_stack_.push_back({2 * n + inside, 0});
    return true;
  };
  for (int32_t output : outputs) {
    body_stack_.clear();
    open(output, true);
    while (!body_stack_.empty()) {
      auto& [key, next] = body_stack_.back();
      const int32_t n = key >> 1;
      const bool inside = key & 1;
      const Node& node = graph_.node(n);
      const absl::Span<const Slot> slots = graph_.slots(node);
      bool descended = false;
      while (!descended && next < static_cast<int32_t>(slots.size())) {
        const Slot& slot = slots[next++];
        descended = open(slot.top, is_computed(node, inside, slot));
      }
      if (descended) continue;
      const int32_t begin = static_cast<int32_t>(body->operands.size());
      for (const Slot& slot : slots) body->operands.push_back(number_of(slot.top, is_computed(node, inside, slot)));
      (inside ? computed_ : read_).number[n] = static_cast<int32_t>(body->values.size());
      body->values.push_back({n, false, begin, static_cast<int32_t>(body->operands.size())});
      body_stack_.pop_back();
    }
    body->outputs.push_back(computed_.number[output]);
  }
}

Hash128 Partition::HashOf(absl::Span<const int32_t> outputs) {
  BuildBody(outputs, &body_);
  KernelHash hash;
  for (const KernelBody::Value& value : body_.values) {
    const Node& node = graph_.node(value.node);
    if (value.parameter) {
      hash.AddParameter(node.parameter);
      continue;
    }
    hash.AddInstruction(node.local);
    for (int32_t operand : body_.OperandsOf(value)) hash.AddOperand(operand);
  }
  for (int32_t output : body_.outputs) hash.AddOutput(output);
  return hash.Finish();
}

}  // namespace smelt::fusion

// Steps 1 to 3 of legalisation: which edges stay (see partition.h).
#include <algorithm>
#include <cmath>

#include "fusion/edge_rules.h"
#include "fusion/partition.h"

namespace smelt::fusion {

void Partition::LegaliseEdges() {
  while (!up_queue_.empty() || !down_queue_.empty()) {
    while (!up_queue_.empty()) EvaluateUp(up_queue_.Pop());
    while (!down_queue_.empty()) EvaluateDown(down_queue_.Pop());
  }
}

Partition::Up Partition::Alone(int32_t n) const {
  const Node& node = graph_.node(n);
  Up up;
  up.code = node.code;
  up.inputs = base_inputs_[n];
  up.depth = 1;
  up.reductions = node.role == Role::kReduction;
  up.contraction = node.role == Role::kContraction ? n : -1;
  up.rows = node.rows;
  up.domain = node.domain;
  up.work = node.cost;  // none of reductions and contractions: their results are kept, not computed again
  const bool kept = rules_.keeps_rows;
  if (!kept && node.role == Role::kReduction) up.work += node.folded;
  return up;
}

void Partition::EvaluateUp(int32_t n) {
  const Node& node = graph_.node(n);
  Up up = Alone(n);
  for (int32_t e = node.in_begin; e < node.in_end; ++e) {
    if (!edge_on_[e]) continue;
    bool needs_scratch = false;
    const Reason reason = Join(graph_.edge(e), e, &up, &needs_scratch);
    if (reason != Reason::kLegal) {
      DropEdge(e, reason);
    } else if (static_cast<bool>(edge_scratch_[e]) != needs_scratch) {
      old_scratch_.push_back({e, edge_scratch_[e]});
      edge_scratch_[e] = needs_scratch;
    }
  }
  if (up_logged_[n] != change_) {
    up_logged_[n] = change_;
    old_up_.push_back({n, up_[n]});
  }
  const bool carries_otherwise =
      (up.contraction >= 0) != (up_[n].contraction >= 0) || (up.reductions > 0) != (up_[n].reductions > 0);
  up_[n] = up;
  if (carries_otherwise) down_queue_.Push(-n, n);
  // Even with an equal summary the prefix may hold other nodes, which exact counts further down would see.
  for (int32_t e : graph_.out_edges(node)) {
    if (edge_on_[e]) up_queue_.Push(graph_.edge(e).consumer, graph_.edge(e).consumer);
  }
}

Reason Partition::Join(const Edge& edge, int32_t e, Up* up, bool* needs_scratch) {
  const Up& producer = up_[edge.producer];
  const Node& consumer = graph_.node(edge.consumer);

  if (producer.contraction >= 0) {
    if (consumer.role == Role::kContraction) return Reason::kTwoContractions;
    if (consumer.role == Role::kReduction || up->rows != 0) return Reason::kContractionTile;
    if (!FollowsContraction(consumer, rules_)) return Reason::kContractionConsumer;
    if (consumer.elementwise && edge.access != Access::kLinear) return Reason::kContractionConsumer;
    if (up->contraction >= 0 && up->contraction != producer.contraction) return Reason::kTwoContractions;
  }
  if (producer.rows != 0) {
    if (up->contraction >= 0) return Reason::kContractionTile;
    if (const Reason reason = JoinRows(edge, producer, up); reason != Reason::kLegal) return reason;
  }
  if (consumer.dynamic_update) {
    const int32_t base = graph_.slots(consumer)[0].source;
    if (base >= 0 && ReadsNode(edge.producer, base)) return Reason::kInPlace;
  }
  int64_t scratch = 0;
  if (const Reason reason = JoinWork(edge, producer, &scratch); reason != Reason::kLegal) return reason;
  *needs_scratch = scratch > 0;

  Exact sum{up->code + producer.code, up->inputs - 1 + producer.inputs, up->reductions + producer.reductions,
            up->scratch + producer.scratch + scratch};
  const auto over = [&](const Exact& x) {
    // One more for the output. A consumer that reads more than the limit by itself may get no worse.
    if (x.inputs + 1 > rules_.max_operands_and_outputs && x.inputs > up->inputs) return Reason::kOperandLimit;
    if (x.code > rules_.max_instructions) return Reason::kCodeLimit;
    if (x.reductions > rules_.max_reductions) return Reason::kReductionLimit;
    if (x.scratch > rules_.max_scratch_bytes) return Reason::kScratchLimit;
    return Reason::kLegal;
  };
  if (over(sum) != Reason::kLegal) {
    sum = CountExactly(edge.consumer, e);
    sum.scratch += scratch;
    if (const Reason reason = over(sum); reason != Reason::kLegal) return reason;
  }
  const int32_t depth = std::max(up->depth, producer.depth + 1);
  if (depth > rules_.max_depth) return Reason::kDepthLimit;
  const bool keeps = rules_.keeps_rows;
  if (!keeps && up->evaluations + producer.evaluations > rules_.max_evaluations &&
      EvaluationsExceed({&edge.consumer, 1}, e)) {
    return Reason::kEvaluations;
  }

  up->code = sum.code;
  up->inputs = sum.inputs;
  up->reductions = sum.reductions;
  up->scratch = sum.scratch;
  up->depth = depth;
  up->domain = std::max(up->domain, producer.domain);
  if (producer.contraction >= 0) up->contraction = producer.contraction;
  if (producer.rows != 0) up->rows = producer.rows;
  const bool keeps_result = keeps && (consumer.role == Role::kReduction || consumer.role == Role::kContraction);
  if (scratch == 0 && !keeps_result) up->work += producer.work * (keeps ? 1 : consumer.folded);
  up->evaluations += producer.evaluations;
  return Reason::kLegal;
}

// A reduction's result may be used again where its outer dimensions are kept: at its own positions, spread along its
// rows, or reduced over the same rows.
Reason Partition::JoinRows(const Edge& edge, const Up& producer, Up* up) const {
  const Node& consumer = graph_.node(edge.consumer);
  if (consumer.role == Role::kContraction) return Reason::kContractionTile;
  if (consumer.role == Role::kReduction) {
    const bool same_rows = edge.access == Access::kLinear && producer.rows > 0 && producer.rows == consumer.rows;
    return same_rows ? Reason::kLegal : Reason::kReductionRows;
  }
  const bool broadcast = consumer.instruction->opcode() == hlo::Opcode::kBroadcast;
  if (edge.access == Access::kOther) return broadcast ? Reason::kReductionRows : Reason::kReductionConsumer;
  if (edge.access == Access::kBroadcast && producer.rows < 0) return Reason::kReductionRows;
  if (up->rows != 0 && up->rows != producer.rows) return Reason::kReductionRows;
  return Reason::kLegal;
}

Reason Partition::JoinWork(const Edge& edge, const Up& producer, int64_t* scratch) {
  if (edge.reuse <= 1) return Reason::kLegal;
  const Node& node = graph_.node(edge.producer);
  const int64_t kept = producer.rows > 0 ? std::max<int64_t>(node.bytes / producer.rows, 1) : node.bytes;
  // One value a row, or a reduction's own result: made once, whatever its work.
  const bool stored = producer.rows > 0 && node.elements == producer.rows;
  if (!stored) {
    const double limit = rules_.recompute_factor / edge.reuse;
    if (producer.work <= std::max(limit, rules_.repeated_work)) return Reason::kLegal;
    // Counted once where it is shared; kernels that compute all anew count it as often as it is read.
    if (rules_.keeps_rows && !WorkExceeds(edge.producer, limit)) return Reason::kLegal;
  }
  if (kept > rules_.max_scratch_bytes) return Reason::kRecompute;
  *scratch = kept;
  return Reason::kLegal;
}

// The prefix of `n` with edges into `n` up to `last_edge` only, each node counted once.
Partition::Exact Partition::CountExactly(int32_t n, int32_t last_edge) {
  Exact exact;
  const uint32_t computed = NextStamp(&computed_);
  const uint32_t read = NextStamp(&read_);
  stack_.clear();
  stack_.push_back(n);
  computed_.seen[n] = computed;
  while (!stack_.empty()) {
    const int32_t m = stack_.back();
    stack_.pop_back();
    const Node& node = graph_.node(m);
    exact.code += node.code;
    exact.reductions += node.role == Role::kReduction;
    for (const Slot& slot : graph_.slots(node)) {
      if (slot.source < 0) continue;
      const bool fused = slot.edge >= 0 && edge_on_[slot.edge] && (m != n || slot.edge <= last_edge);
      if (!fused) {
        exact.inputs += read_.seen[slot.source] != read;
        read_.seen[slot.source] = read;
        continue;
      }
      if (edge_scratch_[slot.edge] && slot.edge != last_edge) {
        const int64_t rows = up_[slot.source].rows;
        const int64_t bytes = graph_.node(slot.source).bytes;
        exact.scratch += rows > 0 ? std::max<int64_t>(bytes / rows, 1) : bytes;
      }
      if (computed_.seen[slot.source] == computed) continue;
      computed_.seen[slot.source] = computed;
      stack_.push_back(slot.source);
    }
  }
  return exact;
}

bool Partition::WorkExceeds(int32_t n, double limit) {
  double work = 0;
  const uint32_t computed = NextStamp(&computed_);
  stack_.clear();
  stack_.push_back(n);
  computed_.seen[n] = computed;
  while (!stack_.empty()) {
    const Node& node = graph_.node(stack_.back());
    stack_.pop_back();
    work += node.cost;
    if (work > limit) return true;
    if (node.role != Role::kInjective) continue;
    for (int32_t e = node.in_begin; e < node.in_end; ++e) {
      const int32_t producer = graph_.edge(e).producer;
      if (!edge_on_[e] || edge_scratch_[e] || computed_.seen[producer] == computed) continue;
      computed_.seen[producer] = computed;
      stack_.push_back(producer);
    }
  }
  return false;
}

bool Partition::ReadsNode(int32_t from, int32_t wanted) {
  if (from == wanted) return true;
  const uint32_t computed = NextStamp(&computed_);
  stack_.clear();
  stack_.push_back(from);
  computed_.seen[from] = computed;
  while (!stack_.empty()) {
    const Node& node = graph_.node(stack_.back());
    stack_.pop_back();
    for (const Slot& slot : graph_.slots(node)) {
      if (slot.source == wanted) return true;
      if (slot.edge < 0 || !edge_on_[slot.edge] || computed_.seen[slot.source] == computed) continue;
      computed_.seen[slot.source] = computed;
      stack_.push_back(slot.source);
    }
  }
  return false;
}

int Partition::CopyLimit(int32_t n) const {
  if (up_[n].contraction >= 0) return 1;
  if (up_[n].reductions > 0) return std::min(rules_.reduction_copies, Rules::kMaxCopies);
  return Rules::kMaxCopies + 1;
}

void Partition::AddRoot(int32_t root, Down* roots) {
  constexpr int32_t kMany = Rules::kMaxCopies + 1;
  if (roots->count == kMany) return;
  int32_t* const end = roots->roots + roots->count;
  int32_t* const at = std::lower_bound(roots->roots, end, root);
  if (at != end && *at == root) return;
  std::copy_backward(at, end, end + 1);
  *at = root;
  if (++roots->count == kMany) std::fill(roots->roots, roots->roots + kMany, 0);  // which no longer matters
}

void Partition::AddRoots(const Down& more, Down* roots) {
  if (more.count == Rules::kMaxCopies + 1) *roots = more;
  for (int32_t i = 0; i < more.count; ++i) AddRoot(more.roots[i], roots);
}

void Partition::EvaluateDown(int32_t n) {
  const Node& node = graph_.node(n);
  Down down;
  if (IsRoot(n)) AddRoot(n, &down);
  for (int32_t e : graph_.out_edges(node)) {
    if (edge_on_[e]) AddRoots(down_[graph_.edge(e).consumer], &down);
  }
  if (const int limit = CopyLimit(n); down.count > limit) {
    // It gets a kernel of its own, and stays in as many others as there is room for.
    down = {};
    AddRoot(n, &down);
    for (int32_t e : graph_.out_edges(node)) {
      if (!edge_on_[e]) continue;
      Down with = down;
      AddRoots(down_[graph_.edge(e).consumer], &with);
      if (with.count <= limit) {
        down = with;
      } else {
        DropEdge(e, Reason::kCopies);
      }
    }
  }
  if (down == down_[n]) return;
  if (down_logged_[n] != change_) {
    down_logged_[n] = change_;
    old_down_.push_back({n, down_[n]});
  }
  down_[n] = down;
  for (int32_t e = node.in_begin; e < node.in_end; ++e) {
    if (edge_on_[e]) down_queue_.Push(-graph_.edge(e).producer, graph_.edge(e).producer);
  }
}

}  // namespace smelt::fusion

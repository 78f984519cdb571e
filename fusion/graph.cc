#include "fusion/graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "base/str_cat.h"
#include "fusion/edge_rules.h"
#include "fusion/instruction_hash.h"
#include "fusion/kernel.h"
#include "hlo/passes/side_effects.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

const hlo::Shape& FirstLeaf(const hlo::Shape& shape) {
  return shape.IsTuple() && !shape.tuple_shapes.empty() ? shape.tuple_shapes[0] : shape;
}

int64_t Elements(const hlo::Shape& shape) { return shape.IsArray() ? shape.ElementCount() : 0; }

Role RoleOf(const Instruction& instruction, const Rules& rules) {
  const Role role = fusion::RoleOf(instruction.opcode());
  return role == Role::kOutside ? role : rules.role(instruction);
}

// Elements of the result if every reduced dimension lies inside all kept ones and a row is not too long; -1 otherwise.
int64_t RowsOf(const Instruction& reduction, const Rules& rules) {
  if (reduction.opcode() != Opcode::kReduce) return -1;
  const hlo::Shape& from = reduction.operand(0)->shape();
  std::vector<bool> reduced(from.dimensions.size());
  for (int64_t d : reduction.attributes<hlo::DimensionsAttributes>().dimensions) reduced[d] = true;
  bool inside = false;
  int64_t row = 1;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (from.dimensions[d] == 1) continue;
    if (inside && !reduced[d]) return -1;
    inside = reduced[d];
    if (inside) row *= from.dimensions[d];
  }
  if (row * hlo::StorageBytes(from.element_type) > rules.max_row_bytes) return -1;
  return FirstLeaf(reduction.shape()).ElementCount();
}

double ElementsFolded(const Instruction& reduction) {
  const double out = static_cast<double>(std::max<int64_t>(Elements(FirstLeaf(reduction.shape())), 1));
  if (reduction.opcode() != Opcode::kReduceWindow)
    return static_cast<double>(Elements(reduction.operand(0)->shape())) / out;
  double window = 1;
  for (const hlo::WindowDimension& d : reduction.attributes<hlo::WindowAttributes>().window.dimensions)
    window *= static_cast<double>(d.size);
  return window;
}

bool IsElementwiseNode(const Instruction& instruction) {
  if (!hlo::IsElementwise(instruction.opcode()) && instruction.opcode() != Opcode::kMap &&
      instruction.opcode() != Opcode::kBitcastConvert) {
    return false;
  }
  const int64_t elements = Elements(instruction.shape());
  return std::all_of(instruction.operands().begin(), instruction.operands().end(), [&](const Instruction* operand) {
    return Elements(operand->shape()) == elements || Elements(operand->shape()) == 1;
  });
}

}  // namespace

absl::StatusOr<Graph> Graph::Build(const hlo::Module& module, const Rules& rules) {
  if (module.entry() == nullptr) {
    return absl::InvalidArgumentError(StrCat("module `", module.name(), "` has no entry computation"));
  }
  // A computation that is also the body of a reduce, sort or the like stays as it is.
  absl::flat_hash_set<const hlo::Computation*> regions;
  const std::vector<hlo::Computation*> executed = module.ExecutedComputations();
  for (const hlo::Computation* computation : executed) {
    for (const Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == Opcode::kFusion) {
        return absl::FailedPreconditionError(
            StrCat("`", instruction->name(), "` in `", computation->name(),
                   "` is a fusion already: take the module's fusions apart first (Unfuse in fusion/unfuse.h)"));
      }
      if (!IsKernel(*instruction)) continue;
      regions.insert(instruction->called().begin(), instruction->called().end());
    }
  }
  Graph graph;
  InstructionHasher hasher(rules.layouts_count);
  for (const hlo::Computation* computation : executed) {
    if (regions.contains(computation)) continue;
    const int32_t number = static_cast<int32_t>(graph.computations_.size());
    graph.computations_.push_back(computation);
    for (const Instruction* instruction : computation->PostOrder()) {
      graph.AddNode(*instruction, number, rules);
      graph.nodes_.back().local = hasher.Local(*instruction);
      graph.nodes_.back().parameter = hasher.Parameter(instruction->shape());
    }
  }
  graph.MarkLive(module);
  if (rules.ordered != nullptr) graph.KeepOrder(rules.ordered(module));
  graph.FindFreeRiders();
  std::vector<int32_t> last_edge(graph.nodes_.size(), -1);
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes_.size()); ++n) graph.AddSlots(n, rules, &last_edge);
  for (const hlo::Computation* computation : graph.computations_) graph.CountUses(*computation);
  graph.SortOutEdges();
  return graph;
}

int32_t Graph::NodeOf(const Instruction& instruction) const {
  auto it = node_of_.find(&instruction);
  return it == node_of_.end() ? -1 : it->second;
}

void Graph::AddNode(const Instruction& instruction, int32_t computation, const Rules& rules) {
  Node node;
  node.instruction = &instruction;
  node.computation = computation;
  for (const Instruction* before : instruction.operands()) {
    node.level = std::max(node.level, nodes_[node_of_.at(before)].level + 1);
  }
  for (const Instruction* before : instruction.control_predecessors()) {
    node.level = std::max(node.level, nodes_[node_of_.at(before)].level + 1);
  }
  node.role = RoleOf(instruction, rules);
  node.tuple_result = !instruction.shape().IsArray();
  node.ordered = instruction.HasControlEdges();
  node.elements = Elements(FirstLeaf(instruction.shape()));
  node.bytes = instruction.shape().ByteSize();
  node.domain = node.elements;
  if (IsLoopNest(node.role)) {
    node.elementwise = IsElementwiseNode(instruction);
    node.dynamic_update = instruction.opcode() == Opcode::kDynamicUpdateSlice;
    node.cost = static_cast<float>(ElementCost(instruction));
    if (node.role == Role::kReduction) {
      node.domain = Elements(instruction.operand(0)->shape());
      node.folded = static_cast<float>(ElementsFolded(instruction));
      if (rules.keeps_rows) {
        node.rows = RowsOf(instruction, rules);
      } else {
        node.domain = node.elements;  // its loop runs over the result
      }
    }
  }
  node_of_.emplace(&instruction, static_cast<int32_t>(nodes_.size()));
  nodes_.push_back(node);
}

// From the entry: what roots and side effects need, in the computations that live instructions call.
void Graph::MarkLive(const hlo::Module& module) {
  const hlo::SideEffects effects(module);
  absl::flat_hash_set<const hlo::Computation*> reached = {module.entry()};
  // Callers come after their callees, users after their operands.
  for (int32_t n = static_cast<int32_t>(nodes_.size()) - 1; n >= 0; --n) {
    Node& node = nodes_[n];
    const Instruction& instruction = *node.instruction;
    const bool effect = effects.Has(instruction);
    node.ordered |= effect;
    node.live = (node.live || effect || instruction.IsRoot()) && reached.contains(instruction.parent());
    if (!node.live) continue;
    reached.insert(instruction.called().begin(), instruction.called().end());
    for (const Instruction* before : instruction.operands()) nodes_[node_of_.at(before)].live = true;
    for (const Instruction* before : instruction.control_predecessors()) nodes_[node_of_.at(before)].live = true;
  }
}

void Graph::KeepOrder(const absl::flat_hash_set<const Instruction*>& ordered) {
  for (Node& node : nodes_) node.stays_ordered = ordered.contains(node.instruction);
}

void Graph::FindFreeRiders() {
  // What needs no source, producers first.
  for (Node& node : nodes_) {
    const Instruction& instruction = *node.instruction;
    if (node.ordered) continue;
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        if (instruction.shape().IsScalar()) node.role = Role::kFree;
        break;
      case Opcode::kIota:
        if (node.role == Role::kInjective) node.role = Role::kFree;
        break;
      case Opcode::kBroadcast:
      case Opcode::kBitcast: {
        const Node& operand = nodes_[node_of_.at(instruction.operand(0))];
        if (node.role == Role::kInjective && operand.role == Role::kFree &&
            (instruction.opcode() == Opcode::kBitcast || operand.elements == 1)) {
          node.role = Role::kFree;
        }
        break;
      }
      default:
        break;
    }
  }
  // Bitcasts of other values, consumers first: all users must be able to hold them.
  for (int32_t n = static_cast<int32_t>(nodes_.size()) - 1; n >= 0; --n) {
    Node& node = nodes_[n];
    const Instruction& instruction = *node.instruction;
    if (instruction.opcode() != Opcode::kBitcast || node.role != Role::kInjective || node.ordered || !node.live ||
        instruction.IsRoot()) {
      continue;
    }
    const bool held = std::all_of(instruction.users().begin(), instruction.users().end(), [&](const Instruction* user) {
      const Node& consumer = nodes_[node_of_.at(user)];
      if (!consumer.live) return true;
      // A dynamic-update-slice writes over its operand in place only if it reads it as it is.
      if (consumer.dynamic_update && user->operand(0) == &instruction) return false;
      return IsLoopNest(consumer.role) || (consumer.role == Role::kFree && user->opcode() == Opcode::kBitcast);
    });
    if (held) node.role = Role::kFree;
  }
}

void Graph::AddSlots(int32_t n, const Rules& rules, std::vector<int32_t>* last_edge) {
  Node& node = nodes_[n];
  node.slots_begin = node.slots_end = static_cast<int32_t>(slots_.size());
  node.in_begin = node.in_end = static_cast<int32_t>(edges_.size());
  if (!node.live || node.role == Role::kOutside) return;
  const Instruction& instruction = *node.instruction;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    Slot slot{node_of_.at(instruction.operand(i)), -1, -1};
    const Node& top = nodes_[slot.top];
    bool linear = true;
    if (top.role != Role::kFree) {
      slot.source = slot.top;
    } else {
      // Down the bitcasts; each has its own slot with the source already.
      if (top.instruction->operand_count() > 0) slot.source = slots_[top.slots_begin].source;
      for (const Instruction* rider = top.instruction;; rider = rider->operand(0)) {
        if (nodes_[node_of_.at(rider)].role != Role::kFree) break;
        ++node.code;
        if (rider->opcode() == Opcode::kBitcast) linear &= IsLinearBitcast(*rider);
        if (rider->operand_count() == 0) break;
      }
    }
    if (slot.source >= 0 && node.role != Role::kFree && IsLoopNest(nodes_[slot.source].role)) {
      EdgeAccess access = OperandAccess(instruction, i);
      if (!linear) access.access = Access::kOther;
      if ((*last_edge)[slot.source] < node.in_begin) {
        slot.edge = (*last_edge)[slot.source] = static_cast<int32_t>(edges_.size());
        edges_.push_back({slot.source, n, static_cast<float>(access.reuse), access.access,
                          EdgeRule(nodes_[slot.source], node, i, rules)});
        if (!node.elementwise && node.role == Role::kInjective && edges_.back().reason == Reason::kLegal &&
            nodes_[slot.source].role == Role::kReduction && access.access == Access::kOther && access.reuse > 1) {
          edges_.back().reason = Reason::kReductionConsumer;
        }
      } else {
        slot.edge = (*last_edge)[slot.source];
        Edge& known = edges_[slot.edge];
        known.reuse = std::max(known.reuse, static_cast<float>(access.reuse));
        if (known.access != access.access) known.access = Access::kOther;
      }
    }
    slots_.push_back(slot);
  }
  node.slots_end = static_cast<int32_t>(slots_.size());
  node.in_end = static_cast<int32_t>(edges_.size());
}

void Graph::CountUses(const hlo::Computation& computation) {
  for (const Instruction* instruction : computation.Instructions()) {
    const Node& node = nodes_[node_of_.at(instruction)];
    if (!node.live || (node.role != Role::kOutside && node.role != Role::kOpaque)) continue;
    absl::InlinedVector<const Instruction*, 8> operands(instruction->operands().begin(), instruction->operands().end());
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const Instruction* operand : operands) ++nodes_[node_of_.at(operand)].fixed_uses;
  }
  ++nodes_[node_of_.at(computation.root())].fixed_uses;
}

void Graph::SortOutEdges() {
  for (const Edge& edge : edges_) {
    if (edge.reason == Reason::kLegal) ++nodes_[edge.producer].out_end;
    if (edge.reason != Reason::kLegal) ++nodes_[edge.producer].fixed_uses;
  }
  int32_t next = 0;
  for (Node& node : nodes_) {
    const int32_t count = node.out_end;
    node.out_begin = node.out_end = next;
    next += count;
  }
  out_edges_.resize(next);
  for (int32_t e = 0; e < static_cast<int32_t>(edges_.size()); ++e) {
    if (edges_[e].reason == Reason::kLegal) out_edges_[nodes_[edges_[e].producer].out_end++] = e;
  }
}

}  // namespace smelt::fusion

// The program as fusion sees it: instructions of the computations that run kernels, densely numbered, with the edges
// along which one may be computed inside another.
//
//   Graph graph = Graph::Build(module, rules).value();
//   for (const Edge& edge : graph.edges()) ...
//
// Free riders (scalar constants, broadcasts of them, iota, bitcasts) are nodes, but no ends of edges: an edge from a
// producer to a consumer leads through the bitcasts between them. The module must outlive the graph and stay as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "fusion/reason.h"
#include "fusion/rules.h"
#include "hlo/module.h"

namespace smelt::fusion {

// How a consumer's element finds the producer's element.
enum class Access : uint8_t {
  kLinear,     // at the same row-major position
  kBroadcast,  // the row-major position divided by the size of the new inner dimensions: a value for each row
  kOther,
};

// One operand position of a node.
struct Slot {
  int32_t top;     // the operand's node
  int32_t source;  // the node below its bitcasts that is no free rider; -1: constants and iota all the way
  int32_t edge;    // source -> the slot's node; -1 where the source is never computed inside
};

struct Edge {
  int32_t producer;
  int32_t consumer;
  float reuse;  // how often the consumer reads one element of the producer
  Access access;
  Reason reason;  // kLegal, or the rule that forbids the edge in every configuration
};

struct Node {
  const hlo::Instruction* instruction = nullptr;
  int32_t computation = 0;
  int32_t level = 0;  // longest way from a parameter or constant; control dependencies count
  int32_t slots_begin = 0, slots_end = 0;
  int32_t in_begin = 0, in_end = 0;    // edges by index
  int32_t out_begin = 0, out_end = 0;  // positions in out_edges
  int32_t fixed_uses = 0;              // uses that read it from memory in every configuration, the root's included
  int32_t code = 1;                    // this and the free riders that it brings
  Role role = Role::kOutside;
  bool live = false;
  bool elementwise = false;  // every operand and the result run over the same elements (or are scalars)
  bool tuple_result = false;
  bool ordered = false;  // control dependencies or side effects
  bool dynamic_update = false;
  bool stays_ordered = false;  // Rules::ordered
  float cost = 0;              // ElementCost
  int64_t elements = 0;        // of the result; a tuple's first
  int64_t bytes = 0;           // of the result
  int64_t domain = 0;          // elements that its loop nest runs over: a reduction's operand, else the result
  float folded = 1;            // reduction: elements of the operand that one of the result is made of; else 1
  int64_t rows = 0;            // reduction: elements of the result if it reduces whole rows, -1 if not; else 0
  Hash128 local;
  Hash128 parameter;  // of its type, for kernels that read it
};

class Graph {
 public:
  static absl::StatusOr<Graph> Build(const hlo::Module& module, const Rules& rules);

  // Producers before consumers, computation by computation. Dead instructions are nodes with live = false.
  absl::Span<const Node> nodes() const { return nodes_; }
  const Node& node(int32_t n) const { return nodes_[n]; }
  absl::Span<const Edge> edges() const { return edges_; }
  const Edge& edge(int32_t e) const { return edges_[e]; }
  absl::Span<const Slot> slots(const Node& node) const {
    return absl::MakeConstSpan(slots_).subspan(node.slots_begin, node.slots_end - node.slots_begin);
  }
  // Edges into a node are edges in_begin..in_end, in operand order. Edges out of it, consumers in order:
  absl::Span<const int32_t> out_edges(const Node& node) const {
    return absl::MakeConstSpan(out_edges_).subspan(node.out_begin, node.out_end - node.out_begin);
  }
  absl::Span<const hlo::Computation* const> computations() const { return computations_; }
  // -1 for instructions of other computations.
  int32_t NodeOf(const hlo::Instruction& instruction) const;

 private:
  void AddNode(const hlo::Instruction& instruction, int32_t computation, const Rules& rules);
  void KeepOrder(const absl::flat_hash_set<const hlo::Instruction*>& ordered);
  void MarkLive(const hlo::Module& module);
  void FindFreeRiders();
  // `last_edge`: by producer, the edge that was added last.
  void AddSlots(int32_t n, const Rules& rules, std::vector<int32_t>* last_edge);
  void CountUses(const hlo::Computation& computation);
  void SortOutEdges();

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Slot> slots_;
  std::vector<int32_t> out_edges_;
  std::vector<const hlo::Computation*> computations_;
  absl::flat_hash_map<const hlo::Instruction*, int32_t> node_of_;
};

inline bool IsLoopNest(Role role) {
  return role == Role::kInjective || role == Role::kReduction || role == Role::kContraction;
}

}  // namespace smelt::fusion

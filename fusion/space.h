// The space of a module: the ordered list of its fusion decisions.
//
//   Space space = Space::Build(module, Rules::OwnKernels()).value();
//   space.size()        // 213
//   space.Name(17)      // "add.41 -> maximum.42"
//
// It follows from the module and the target alone, in time near linear in the module: one bit for each edge along which
// a producer may be computed inside a consumer; one for each producer with several uses (share it as a second output,
// or compute it again); one for each pair of neighbouring consumers of a large operand (join their kernels). The module
// must outlive the space and stay as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "fusion/graph.h"
#include "fusion/rules.h"
#include "hlo/module.h"
#include "hlo/passes/reuse_distance.h"

namespace smelt::fusion {

enum class DecisionKind : uint8_t {
  kEdge,     // compute `first` inside the kernels of `second`
  kShare,    // where `first` is both fused and kept: make it a second output of the kernel that it is fused into
  kSibling,  // join the kernels of `first` and `second`
};
std::string_view DecisionKindName(DecisionKind kind);  // "edge", "share", "sibling"

struct Decision {
  DecisionKind kind;
  int32_t first;   // nodes of the graph
  int32_t second;  // -1 for kShare
  int32_t edge;    // of the graph; -1 for others than kEdge
};

class Space {
 public:
  static absl::StatusOr<Space> Build(const hlo::Module& module, const Rules& rules);

  int64_t size() const { return static_cast<int64_t>(decisions_.size()); }
  const Decision& decision(int64_t d) const { return decisions_[d]; }
  absl::Span<const Decision> decisions() const { return decisions_; }
  // "add.41 -> maximum.42", "share add.41", "reduce.7 | reduce.9".
  std::string Name(int64_t d) const;
  const hlo::Instruction& first(int64_t d) const { return *graph_->node(decisions_[d].first).instruction; }
  const hlo::Instruction* second(int64_t d) const;
  const hlo::Computation& computation(int64_t d) const { return *first(d).parent(); }

  // Decisions come as edges by consumer, then shares, then siblings.
  int64_t edge_count() const { return edge_count_; }
  int32_t DecisionOfEdge(int32_t edge) const { return decision_of_edge_[edge]; }  // -1: forbidden
  int32_t ShareOf(int32_t node) const { return share_of_[node]; }                 // -1: none
  // All edge decisions of a producer, in the order of its consumers.
  std::vector<int32_t> EdgesOf(int32_t producer) const;

  // Decisions between equal surroundings (opcodes, shapes and attributes two steps around) have one pattern, such as
  // the same edge in every layer of a network. Patterns are numbered from 0 in order of first appearance.
  int32_t PatternOf(int64_t d) const { return pattern_of_[d]; }
  int64_t pattern_count() const { return static_cast<int64_t>(patterns_.size()); }
  absl::Span<const int32_t> Pattern(int32_t pattern) const { return patterns_[pattern]; }

  const Graph& graph() const { return *graph_; }
  // How far the operands of kernels lie away.
  const hlo::ReuseDistances& distances() const { return *distances_; }
  const Rules& rules() const { return rules_; }
  const hlo::Module& module() const { return *module_; }
  // The module's fingerprint, independent of names.
  const Hash128& fingerprint() const { return fingerprint_; }

 private:
  Space() = default;
  void AddEdges();
  void AddShares();
  void AddSiblings();
  void FindPatterns();

  const hlo::Module* module_ = nullptr;
  Rules rules_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<hlo::ReuseDistances> distances_;
  std::vector<Decision> decisions_;
  int64_t edge_count_ = 0;
  std::vector<int32_t> decision_of_edge_;
  std::vector<int32_t> share_of_;
  std::vector<int32_t> pattern_of_;
  std::vector<std::vector<int32_t>> patterns_;
  Hash128 fingerprint_;
};

}  // namespace smelt::fusion

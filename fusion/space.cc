#include "fusion/space.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/fingerprint.h"

namespace smelt::fusion {

std::string_view DecisionKindName(DecisionKind kind) {
  static constexpr std::string_view kNames[] = {"edge", "share", "sibling"};
  return kNames[static_cast<int>(kind)];
}

absl::StatusOr<Space> Space::Build(const hlo::Module& module, const Rules& rules) {
  Space space;
  space.module_ = &module;
  space.rules_ = rules;
  SMELT_ASSIGN_OR_RETURN(Graph graph, Graph::Build(module, rules));
  space.graph_ = std::make_unique<Graph>(std::move(graph));
  space.distances_ = std::make_unique<hlo::ReuseDistances>(module);
  space.fingerprint_ = hlo::Fingerprint(module);
  space.AddEdges();
  space.AddShares();
  space.AddSiblings();
  space.FindPatterns();
  return space;
}

void Space::AddEdges() {
  decision_of_edge_.assign(graph_->edges().size(), -1);
  for (int32_t e = 0; e < static_cast<int32_t>(graph_->edges().size()); ++e) {
    const Edge& edge = graph_->edge(e);
    if (edge.reason != Reason::kLegal) continue;
    decision_of_edge_[e] = static_cast<int32_t>(decisions_.size());
    decisions_.push_back({DecisionKind::kEdge, edge.producer, edge.consumer, e});
  }
  edge_count_ = size();
}

void Space::AddShares() {
  share_of_.assign(graph_->nodes().size(), -1);
  for (int32_t n = 0; n < static_cast<int32_t>(graph_->nodes().size()); ++n) {
    const Node& node = graph_->node(n);
    const int64_t edges = static_cast<int64_t>(graph_->out_edges(node).size());
    if (edges == 0 || edges + node.fixed_uses < 2 || node.role == Role::kContraction) continue;
    share_of_[n] = static_cast<int32_t>(decisions_.size());
    decisions_.push_back({DecisionKind::kShare, n, -1, -1});
  }
}

// Neighbours in the order of the program among the readers of one large value that run over equally many elements: a
// chain of pairs, so that k readers make k-1 decisions and any of their groupings into runs is a configuration.
void Space::AddSiblings() {
  absl::flat_hash_map<std::pair<int32_t, int64_t>, int32_t> last;  // by operand and size of the loop nest
  absl::flat_hash_set<std::pair<int32_t, int32_t>> known;
  for (int32_t n = 0; n < static_cast<int32_t>(graph_->nodes().size()); ++n) {
    const Node& node = graph_->node(n);
    if (!node.live || (node.role != Role::kInjective && node.role != Role::kReduction)) continue;
    if (node.tuple_result || node.dynamic_update || node.ordered) continue;
    for (const Slot& slot : graph_->slots(node)) {
      if (slot.source < 0 || graph_->node(slot.source).bytes < rules_.sibling_bytes) continue;
      auto [it, fresh] = last.try_emplace(std::pair(slot.source, node.domain), n);
      if (fresh || it->second == n) continue;
      const int32_t before = std::exchange(it->second, n);
      if (known.insert({before, n}).second) decisions_.push_back({DecisionKind::kSibling, before, n, -1});
    }
  }
}

const hlo::Instruction* Space::second(int64_t d) const {
  const int32_t node = decisions_[d].second;
  return node < 0 ? nullptr : graph_->node(node).instruction;
}

std::string Space::Name(int64_t d) const {
  switch (decisions_[d].kind) {
    case DecisionKind::kEdge:
      return StrCat(first(d).name(), " -> ", second(d)->name());
    case DecisionKind::kShare:
      return StrCat("share ", first(d).name());
    case DecisionKind::kSibling:
      return StrCat(first(d).name(), " | ", second(d)->name());
  }
  return "";
}

std::vector<int32_t> Space::EdgesOf(int32_t producer) const {
  std::vector<int32_t> decisions;
  for (int32_t e : graph_->out_edges(graph_->node(producer))) decisions.push_back(decision_of_edge_[e]);
  return decisions;
}

// Colour refinement (Weisfeiler and Leman, 1968), two rounds: enough to tell most layers' parts apart, and cheap.
void Space::FindPatterns() {
  const int32_t count = static_cast<int32_t>(graph_->nodes().size());
  std::vector<uint64_t> colour(count), next(count), users(count);
  const auto mix = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15) * (b ^ 0xD6E8FEB86659FD93);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  // What comes from outside is known by its type only: its place among the parameters is no part of a pattern.
  const auto own = [&](const Node& node) { return node.role == Role::kOutside ? node.parameter : node.local; };
  for (int32_t n = 0; n < count; ++n) colour[n] = own(graph_->node(n)).low;
  for (int round = 0; round < 2; ++round) {
    std::fill(users.begin(), users.end(), 0);
    for (int32_t n = 0; n < count; ++n) {
      const Node& node = graph_->node(n);
      uint64_t value = mix(colour[n], own(node).high);
      uint64_t position = 0;
      for (const Slot& slot : graph_->slots(node)) {
        value = mix(value, slot.source < 0 ? colour[slot.top] : colour[slot.source]);
        if (slot.source >= 0) users[slot.source] += mix(colour[n], ++position);
      }
      next[n] = value;
    }
    for (int32_t n = 0; n < count; ++n) colour[n] = mix(next[n], users[n]);
  }
  absl::flat_hash_map<uint64_t, int32_t> number;
  pattern_of_.reserve(decisions_.size());
  for (int32_t d = 0; d < static_cast<int32_t>(decisions_.size()); ++d) {
    const Decision& decision = decisions_[d];
    const uint64_t key = mix(mix(colour[decision.first], decision.second < 0 ? 1 : colour[decision.second]),
                             static_cast<uint64_t>(decision.kind) + 2);
    auto [it, fresh] = number.try_emplace(key, static_cast<int32_t>(patterns_.size()));
    if (fresh) patterns_.emplace_back();
    patterns_[it->second].push_back(d);
    pattern_of_.push_back(it->second);
  }
}

}  // namespace smelt::fusion

// The rule of max_evaluations, which needs a kernel's inside: how often an instruction's code stands in it.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fusion/partition.h"

namespace smelt::fusion {
namespace {

// Whether the consumer reads the operand at its own index.
bool ReadsAtOwnIndex(const Node& consumer, const Slot& slot) { return consumer.elementwise && slot.top == slot.source; }

}  // namespace

// This count is that of XLA (FusionNodeIndexingEvaluation): an instruction is read at the index of each consumer that
// changes the index, once for each index of that consumer; consumers that do not change it pass their own on.
bool Partition::EvaluationsExceed(absl::Span<const int32_t> outputs, int32_t last_edge) {
  std::vector<int32_t> nodes(outputs.begin(), outputs.end());
  const uint32_t computed = NextStamp(&computed_);
  for (int32_t n : outputs) computed_.seen[n] = computed;
  const auto fused = [&](int32_t n, const Slot& slot) {
    if (slot.edge < 0 || !edge_on_[slot.edge]) return false;
    return n != outputs[0] || outputs.size() > 1 || slot.edge <= last_edge;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Slot& slot : graph_.slots(graph_.node(nodes[i]))) {
      if (!fused(nodes[i], slot) || computed_.seen[slot.source] == computed) continue;
      computed_.seen[slot.source] = computed;
      nodes.push_back(slot.source);
    }
  }
  std::sort(nodes.rbegin(), nodes.rend());  // consumers first
  constexpr int32_t kWhole = -1;            // the index of the kernel's own loop
  absl::flat_hash_map<int32_t, std::vector<int32_t>> indexers;
  absl::flat_hash_map<int32_t, int64_t> evaluations;
  for (int32_t n : outputs) indexers[n] = {kWhole};
  for (int32_t n : nodes) {
    std::vector<int32_t> own = indexers[n];  // a copy: the map grows below
    int64_t count = 0;
    for (int32_t indexer : own) count += indexer == kWhole ? 1 : evaluations[indexer];
    if (count > rules_.max_evaluations) return true;
    evaluations[n] = count;
    const Node& node = graph_.node(n);
    for (const Slot& slot : graph_.slots(node)) {
      if (!fused(n, slot)) continue;
      std::vector<int32_t>& of_source = indexers[slot.source];
      const auto add = [&](int32_t indexer) {
        if (std::find(of_source.begin(), of_source.end(), indexer) == of_source.end()) of_source.push_back(indexer);
      };
      if (ReadsAtOwnIndex(node, slot)) {
        for (int32_t indexer : own) add(indexer);
      } else {
        add(n);
      }
    }
  }
  return false;
}

}  // namespace smelt::fusion

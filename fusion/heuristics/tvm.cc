// The operator fusion of the TVM paper (Chen et al., OSDI 2018, Section 3): injective operators fuse into each other
// and into reductions, contractions take elementwise operators on their output, and nothing is computed twice: an
// operator is fused only if all its uses end in one kernel.
#include <vector>

#include "fusion/heuristics/heuristics.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

bool Fuses(const Node& producer, const Node& consumer) {
  switch (producer.role) {
    case Role::kInjective:
      return consumer.role == Role::kInjective || consumer.role == Role::kReduction;
    case Role::kContraction:
      return consumer.role == Role::kInjective && consumer.elementwise;
    default:
      return false;
  }
}

}  // namespace

Config TvmFusion(const Space& space) {
  const Graph& graph = space.graph();
  Config config(space.size());
  std::vector<int32_t> root(graph.nodes().size());
  for (int32_t n = static_cast<int32_t>(root.size()) - 1; n >= 0; --n) {
    const Node& node = graph.node(n);
    root[n] = n;
    const auto edges = graph.out_edges(node);
    if (node.fixed_uses > 0 || edges.empty()) continue;
    const int32_t wanted = root[graph.edge(edges[0]).consumer];
    bool fuses = true;
    for (int32_t e : edges) {
      const int32_t consumer = graph.edge(e).consumer;
      fuses &= root[consumer] == wanted && Fuses(node, graph.node(consumer));
    }
    if (!fuses) continue;
    root[n] = wanted;
    for (int32_t e : edges) config.Set(space.DecisionOfEdge(e), true);
  }
  return Legalize(space, config);
}

}  // namespace smelt::fusion

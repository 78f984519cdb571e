#include "fusion/legality.h"

#include <algorithm>

#include "fusion/partition.h"

namespace smelt::fusion {
namespace {

std::vector<int32_t> SetBits(const Config& config) {
  std::vector<int32_t> bits;
  for (int32_t d = 0; d < config.size(); ++d) {
    if (config.Get(d)) bits.push_back(d);
  }
  return bits;
}

bool Reads(const hlo::Instruction& consumer, const hlo::Instruction& producer) {
  const auto operands = consumer.operands();
  return std::find(operands.begin(), operands.end(), &producer) != operands.end();
}

}  // namespace

Config Legalize(const Space& space, const Config& config, std::vector<Dropped>* dropped) {
  Partition partition(space, /*hashes=*/false);
  partition.Change(SetBits(config));
  if (dropped != nullptr) {
    dropped->clear();
    for (const Partition::Dropped& d : partition.dropped()) dropped->push_back({d.decision, d.reason});
  }
  return partition.config();
}

Explanation Why(const Space& space, const Config& legal, const hlo::Instruction& producer,
                const hlo::Instruction& consumer) {
  const Graph& graph = space.graph();
  const int32_t p = graph.NodeOf(producer);
  const int32_t c = graph.NodeOf(consumer);
  if (p < 0 || c < 0 || producer.parent() != consumer.parent()) return {Reason::kOtherComputation};
  for (int32_t e = graph.node(c).in_begin; e < graph.node(c).in_end; ++e) {
    if (graph.edge(e).producer != p) continue;
    const int32_t decision = space.DecisionOfEdge(e);
    if (decision < 0) return {graph.edge(e).reason};
    Partition partition(space, /*hashes=*/false);
    partition.Change(SetBits(legal));
    return {partition.WhyNot(decision), decision};
  }
  if (!Reads(consumer, producer)) return {Reason::kNoUse};
  const Role roles[] = {graph.node(p).role, graph.node(c).role};
  for (Role role : roles) {
    if (role == Role::kFree) return {Reason::kFreeRider};
    if (role == Role::kOutside) return {Reason::kNotKernel};
  }
  return {Reason::kOpaque};
}

}  // namespace smelt::fusion

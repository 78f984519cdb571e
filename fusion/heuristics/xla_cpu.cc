// XLA's instruction fusion for CPUs as a configuration. The pass itself (xla_cpu_pass.h) makes kernels in which the
// same instruction may lie with different companions; a configuration says of an edge only whether its producer is
// computed wherever its consumer is. An edge is set where all of the consumer's kernels hold the producer, so that
// none grows beyond XLA's. What this space forbids (edge_rules.h, legality.h) is dropped afterwards.
#include <vector>

#include "fusion/heuristics/heuristics.h"
#include "fusion/heuristics/xla_cpu_pass.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

// The copy that makes what a copy reads at an operand, below bitcasts that are free riders; -1: memory.
int32_t MakerBelowRiders(const Graph& graph, const xla_cpu::XlaKernel& kernel, int32_t copy, int64_t operand) {
  int32_t maker = kernel.copies[copy].makers[operand];
  while (maker >= 0) {
    const hlo::Instruction& instruction = *kernel.copies[maker].instruction;
    const bool rider =
        instruction.opcode() == hlo::Opcode::kBitcast && graph.node(graph.NodeOf(instruction)).role == Role::kFree;
    if (!rider) break;
    maker = kernel.copies[maker].makers[0];
  }
  return maker;
}

}  // namespace

Config XlaCpuFusion(const Space& space) {
  const Graph& graph = space.graph();
  std::vector<int32_t> inside(graph.edges().size()), outside(graph.edges().size());
  for (const hlo::Computation* computation : graph.computations()) {
    for (const xla_cpu::XlaKernel& kernel : xla_cpu::XlaCpuKernels(*computation)) {
      for (int32_t copy = 0; copy < static_cast<int32_t>(kernel.copies.size()); ++copy) {
        const auto slots = graph.slots(graph.node(graph.NodeOf(*kernel.copies[copy].instruction)));
        for (int64_t i = 0; i < static_cast<int64_t>(slots.size()); ++i) {
          if (slots[i].edge < 0) continue;
          ++(MakerBelowRiders(graph, kernel, copy, i) >= 0 ? inside : outside)[slots[i].edge];
        }
      }
    }
  }
  Config config(space.size());
  for (int32_t e = 0; e < static_cast<int32_t>(inside.size()); ++e) {
    const int32_t decision = space.DecisionOfEdge(e);
    if (decision >= 0 && inside[e] > 0 && outside[e] == 0) config.Set(decision, true);
  }
  return Legalize(space, config);
}

}  // namespace smelt::fusion

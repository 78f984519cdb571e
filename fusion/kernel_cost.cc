#include "fusion/kernel_cost.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "fusion/edge_rules.h"

namespace smelt::fusion {
namespace {

using hlo::Opcode;

// How often an operand of a contraction is read once packing has done its part.
constexpr double kContractionRereads = 4;
// Element operations that moving one element to another place costs.
constexpr double kMovementCost = 0.5;

// The share of an operand of this instruction that one run reads.
double ReadShare(const hlo::Instruction& instruction, int64_t operand) {
  switch (instruction.opcode()) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather: {
      if (operand != 0) return 1;
      const double in = static_cast<double>(instruction.operand(0)->shape().ElementCount());
      return std::min(1.0, static_cast<double>(instruction.shape().ElementCount()) / std::max(in, 1.0));
    }
    case Opcode::kDynamicUpdateSlice:  // in place
      return operand == 0 ? 0 : 1;
    default:
      return 1;
  }
}

double OperationsPerElement(const Node& node) {
  if (node.cost > 0) return node.cost;
  if (node.role == Role::kInjective && !node.elementwise) return kMovementCost;
  return 0;
}

}  // namespace

double KernelSeconds(const Graph& graph, const Rules& rules, const KernelBody& body) {
  const size_t count = body.values.size();
  thread_local std::vector<double> evaluated, share;
  evaluated.assign(count, 0);  // elements of each value that are computed
  share.assign(count, 0);      // of each value, the part that is read
  for (int32_t output : body.outputs) {
    const Node& node = graph.node(body.values[output].node);
    evaluated[output] = static_cast<double>(node.elements);
    share[output] = 1;
  }
  double element_operations = 0;
  double flops = 0;
  double memory_seconds = 0;
  const auto move = [&](double bytes) {
    memory_seconds += bytes / (bytes <= static_cast<double>(rules.cache_bytes) ? rules.cache_bytes_per_second
                                                                               : rules.memory_bytes_per_second);
  };
  for (size_t i = count; i-- > 0;) {  // users come after their operands
    const KernelBody::Value& value = body.values[i];
    const Node& node = graph.node(value.node);
    if (value.parameter) {
      move(share[i] * static_cast<double>(node.bytes));
      continue;
    }
    element_operations += evaluated[i] * OperationsPerElement(node);
    const double repeats = evaluated[i] / static_cast<double>(std::max<int64_t>(node.elements, 1));
    const absl::Span<const int32_t> operands = body.OperandsOf(value);
    for (size_t o = 0; o < operands.size(); ++o) {
      const int32_t operand = operands[o];
      const Node& producer = graph.node(body.values[operand].node);
      const double elements = static_cast<double>(producer.elements);
      double reads = evaluated[i];
      if (node.role == Role::kContraction) {
        const double reuse = OperandAccess(*node.instruction, static_cast<int64_t>(o)).reuse;
        if (o == 0) flops += 2 * reuse * elements * repeats;
        reads = elements * std::min(reuse, kContractionRereads) * repeats;
      } else if (node.role == Role::kReduction) {
        reads = elements * repeats;
        if (o == 0) element_operations += reads;
      } else if (rules.keeps_rows && (producer.role == Role::kReduction || producer.elements * 16 <= node.elements)) {
        reads = std::min(reads, elements);  // kept inside the kernel
      }
      evaluated[operand] = std::max(evaluated[operand], reads);
      share[operand] = std::max(share[operand], ReadShare(*node.instruction, static_cast<int64_t>(o)) *
                                                    (body.values[operand].parameter ? 1 : share[i]));
    }
  }
  for (int32_t output : body.outputs) {
    const Node& node = graph.node(body.values[output].node);
    move(static_cast<double>(node.dynamic_update ? graph.node(graph.slots(node)[1].top).bytes : node.bytes));
  }
  const double compute_seconds =
      element_operations / rules.element_operations_per_second + flops / rules.flops_per_second;
  return std::max(memory_seconds, compute_seconds) + rules.launch_seconds;
}

absl::StatusOr<double> KernelSeconds(const hlo::Module& kernel, const Rules& rules) {
  SMELT_ASSIGN_OR_RETURN(const Graph graph, Graph::Build(kernel, rules));
  const hlo::Instruction& root = *kernel.entry()->root();
  KernelBody body;
  std::vector<int32_t> number(graph.nodes().size(), -1);  // values by node; producers come first
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    const hlo::Instruction& instruction = *graph.node(n).instruction;
    if (instruction.parent() != kernel.entry() || (&instruction == &root && root.opcode() == Opcode::kTuple)) continue;
    KernelBody::Value value{n, instruction.opcode() == Opcode::kParameter, static_cast<int32_t>(body.operands.size()),
                            0};
    for (const hlo::Instruction* operand : instruction.operands())
      body.operands.push_back(number[graph.NodeOf(*operand)]);
    value.operands_end = static_cast<int32_t>(body.operands.size());
    body.parameter_count += value.parameter;
    number[n] = static_cast<int32_t>(body.values.size());
    body.values.push_back(value);
  }
  if (root.opcode() == Opcode::kTuple) {
    for (const hlo::Instruction* output : root.operands()) body.outputs.push_back(number[graph.NodeOf(*output)]);
  } else {
    body.outputs.push_back(number[graph.NodeOf(root)]);
  }
  return KernelSeconds(graph, rules, body);
}

}  // namespace smelt::fusion

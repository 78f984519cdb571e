// XLA's instruction fusion for CPUs, as its sources describe it: producers are fused into their consumers from the end
// of the program backwards, duplicating them where that is cheap. Its limits, all of them below: expensive producers
// are neither duplicated nor fused where their elements are read more than once; a producer that reads more than it
// writes is fused into all its consumers or none; at most 15 copies of an instruction's code and 5 reductions in a
// kernel; concatenations of at most 8 operands; no reduction over major dimensions takes a producer; dots only of a
// matrix and a short vector.
//
// What this space forbids (edge_rules.h) is dropped afterwards.
#include <algorithm>
#include <vector>

#include "fusion/edge_rules.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/legality.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr int kCodeDuplication = 15;
constexpr int kReductions = 5;
constexpr int64_t kConcatenateOperands = 8;
constexpr int64_t kConcatenateMinorExtent = 128;
constexpr int64_t kVectorBytes = 16 << 10;

// Beside the elementwise opcodes.
constexpr Opcode kLoopFusible[] = {
    Opcode::kBitcast, Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
    Opcode::kGather,  Opcode::kIota,      Opcode::kPad,         Opcode::kReduce,       Opcode::kReshape,
    Opcode::kReverse, Opcode::kSlice,     Opcode::kTranspose,
};

bool LoopFusible(const Instruction& instruction) {
  return hlo::IsElementwise(instruction.opcode()) ||
         std::find(std::begin(kLoopFusible), std::end(kLoopFusible), instruction.opcode()) != std::end(kLoopFusible);
}

// What XLA does not compute twice: transcendentals, reductions, contractions and unusual operations. Division counts
// only for floating point.
bool IsExpensive(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kDivide || opcode == Opcode::kRemainder) {
    return !hlo::IsInteger(instruction.shape().element_type);
  }
  return hlo::HasFlag(opcode, hlo::kExpensive);
}

bool WidensOnly(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConvert &&
         hlo::BitWidth(instruction.shape().element_type) > hlo::BitWidth(instruction.operand(0)->shape().element_type);
}

bool AlwaysDuplicable(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBroadcast || WidensOnly(instruction);
}

// At most one operand of the result's rank: copying such a producer does not multiply the bytes that are read.
bool EffectivelyUnary(const Instruction& instruction) {
  int large = 0;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->opcode() == Opcode::kBroadcast || operand->opcode() == Opcode::kIota) continue;
    large += operand->shape().rank() >= instruction.shape().rank();
  }
  return large <= 1;
}

bool ReadsMoreThanItWrites(const Instruction& instruction) {
  int64_t bytes = 0;
  for (const Instruction* operand : instruction.operands()) bytes += operand->shape().ByteSize();
  return bytes > instruction.shape().ByteSize();
}

bool IsMatrixVectorDot(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kDot || instruction.shape().rank() > 2) return false;
  const auto& dot = instruction.attributes<hlo::DotAttributes>();
  if (!dot.lhs_batch.empty()) return false;
  return instruction.shape().rank() <= 1 || instruction.shape().dimensions[0] == 1 ||
         instruction.shape().dimensions[1] == 1;
}

bool ReducesMinorDimension(const Instruction& reduce) {
  const auto& reduced = reduce.attributes<hlo::DimensionsAttributes>().dimensions;
  const hlo::Shape& from = reduce.operand(0)->shape();
  const int64_t minor = from.layout.has_value() && !from.layout->minor_to_major.empty() ? from.layout->minor_to_major[0]
                                                                                        : from.rank() - 1;
  return std::find(reduced.begin(), reduced.end(), minor) != reduced.end();
}

class XlaCpu {
 public:
  explicit XlaCpu(const Space& space) : space_(space), graph_(space.graph()), config_(space.size()) {}

  Config Run() {
    const int32_t count = static_cast<int32_t>(graph_.nodes().size());
    reused_.assign(count, 0);
    evaluations_.assign(count, 1);
    reductions_.assign(count, 0);
    for (int32_t n = count - 1; n >= 0; --n) Visit(n);
    return Legalize(space_, config_);
  }

 private:
  void Visit(int32_t n) {
    const Node& node = graph_.node(n);
    reductions_[n] += node.role == Role::kReduction;
    const auto edges = graph_.out_edges(node);
    if (edges.empty()) return;
    const Instruction& producer = *node.instruction;
    const bool several = edges.size() + node.fixed_uses > 1;
    bool all = node.fixed_uses == 0;
    std::vector<int32_t> fused;
    for (int32_t e : edges) {
      if (ShouldFuse(node, graph_.edge(e), several)) {
        fused.push_back(e);
      } else {
        all = false;
      }
    }
    if (!all && several && !EffectivelyUnary(producer) && ReadsMoreThanItWrites(producer) &&
        !AlwaysDuplicable(producer)) {
      return;
    }
    int same_index = 0;  // consumers that take the element at their own position share one evaluation
    int other_index = 0;
    for (int32_t e : fused) {
      const Edge& edge = graph_.edge(e);
      if (edge.access == Access::kLinear) {
        same_index = std::max(same_index, evaluations_[edge.consumer]);
      } else {
        other_index += evaluations_[edge.consumer];
      }
    }
    if (same_index + other_index > kCodeDuplication) return;
    if (fused.empty()) return;
    evaluations_[n] = std::max(1, same_index + other_index);
    for (int32_t e : fused) {
      const Edge& edge = graph_.edge(e);
      config_.Set(space_.DecisionOfEdge(e), true);
      reused_[n] |= edge.reuse > 1 || reused_[edge.consumer];
      reductions_[n] = std::max<int>(reductions_[n], reductions_[edge.consumer] + (node.role == Role::kReduction));
    }
  }

  bool ShouldFuse(const Node& node, const Edge& edge, bool several) const {
    const Instruction& producer = *node.instruction;
    const Node& consumer_node = graph_.node(edge.consumer);
    const Instruction& consumer = *consumer_node.instruction;
    if (IsMatrixVectorDot(producer)) return consumer.opcode() == Opcode::kAdd && !several;
    if (!LoopFusible(producer)) return false;
    if (producer.opcode() == Opcode::kConcatenate && !SmallConcatenate(producer)) return false;
    const bool reused = edge.reuse > 1 || reused_[edge.consumer];
    if (IsExpensive(producer) && (reused || several)) return false;
    if (reductions_[edge.consumer] + (node.role == Role::kReduction) > kReductions) return false;
    if (consumer.opcode() == Opcode::kDot) return FusesIntoDot(node, consumer);
    if (consumer.opcode() == Opcode::kReduce && !ReducesMinorDimension(consumer)) return false;
    if (consumer.opcode() == Opcode::kConcatenate && !SmallConcatenate(consumer)) return false;
    return LoopFusible(consumer);
  }

  static bool SmallConcatenate(const Instruction& concatenate) {
    const int64_t dimension = concatenate.attributes<hlo::DimensionsAttributes>().dimensions[0];
    const bool minor = dimension == concatenate.shape().rank() - 1;
    return concatenate.operand_count() <= kConcatenateOperands &&
           !(minor && concatenate.shape().dimensions[dimension] >= kConcatenateMinorExtent);
  }

  // The matrix of a product with a short vector is read once, so it may be computed on the way.
  bool FusesIntoDot(const Node& producer, const Instruction& dot) const {
    if (dot.shape().rank() > 1) return false;
    for (int64_t vector = 0; vector < 2; ++vector) {
      const hlo::Shape& shape = dot.operand(vector)->shape();
      const int32_t matrix = graph_.NodeOf(*dot.operand(1 - vector));
      if (shape.rank() == 1 && shape.ByteSize() < kVectorBytes && &graph_.node(matrix) == &producer) return true;
    }
    return false;
  }

  const Space& space_;
  const Graph& graph_;
  Config config_;
  std::vector<uint8_t> reused_;   // some element of the node is read more than once by the kernels that it is in
  std::vector<int> evaluations_;  // copies of its code
  std::vector<int> reductions_;
};

}  // namespace

Config XlaCpuFusion(const Space& space) { return XlaCpu(space).Run(); }

}  // namespace smelt::fusion

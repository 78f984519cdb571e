#include "hlo/quantize/known_values.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/evaluator/support.h"
#include "hlo/quantize/channels.h"

namespace smelt::hlo::quantize {
namespace {

constexpr int64_t kKeptElements = 1 << 16;  // more are computed anew

// Whether the result follows from the operands, and may be computed at any time.
bool IsPure(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kCustomCall:
      return false;
    default:
      return !instruction.HasSideEffect() && !HasFlag(instruction.opcode(), kSideEffect) &&
             EvaluatorRuns(instruction) && !instruction.shape().IsDynamic();
  }
}

}  // namespace

KnownValues::KnownValues(const Computation& computation, const Weights& weights) : weights_(weights) {
  for (const Instruction* instruction : computation.PostOrder()) {
    if (instruction->opcode() == Opcode::kParameter) {
      if (weights.contains(instruction->attributes<ParameterAttributes>().number)) known_.insert(instruction);
      continue;
    }
    if (!IsPure(*instruction)) continue;
    bool all = true;
    for (const Instruction* operand : instruction->operands()) all = all && known_.contains(operand);
    if (all) known_.insert(instruction);
  }
}

absl::StatusOr<std::shared_ptr<const Literal>> KnownValues::Value(const Instruction& instruction) {
  // Values that are computed for this question alone.
  absl::flat_hash_map<const Instruction*, std::shared_ptr<const Literal>> now;
  auto find = [&](const Instruction* x) -> std::shared_ptr<const Literal> {
    if (const auto at = values_.find(x); at != values_.end()) return at->second;
    const auto at = now.find(x);
    return at == now.end() ? nullptr : at->second;
  };
  std::vector<const Instruction*> stack = {&instruction};
  while (!stack.empty()) {
    const Instruction* x = stack.back();
    if (find(x) != nullptr) {
      stack.pop_back();
      continue;
    }
    std::shared_ptr<const Literal> value;
    if (x->opcode() == Opcode::kParameter) {
      // The map outlives this object, and its literals with it.
      const Literal& weight = weights_.at(x->attributes<ParameterAttributes>().number);
      value = std::shared_ptr<const Literal>(std::shared_ptr<const void>(), &weight);
    } else if (x->opcode() == Opcode::kConstant) {
      value = x->attributes<ConstantAttributes>().literal;
    } else {
      bool ready = true;
      std::vector<std::shared_ptr<const Literal>> kept;
      std::vector<const Literal*> operands;
      for (const Instruction* operand : x->operands()) {
        kept.push_back(find(operand));
        operands.push_back(kept.back().get());
        if (kept.back() != nullptr) continue;
        stack.push_back(operand);
        ready = false;
      }
      if (!ready) continue;
      SMELT_ASSIGN_OR_RETURN(Literal result, EvaluateInstruction(*x, operands));
      value = std::make_shared<const Literal>(std::move(result));
    }
    const bool small = value->IsArray() && value->element_count() <= kKeptElements;
    (small ? values_ : now)[x] = value;
    stack.pop_back();
  }
  return find(&instruction);
}

std::vector<double> ByChannel(const Literal& literal, absl::Span<const int64_t> channel_dims) {
  const std::vector<int64_t>& sizes = literal.shape().dimensions;
  if (literal.element_count() == 0) return {};
  std::vector<double> values(PlaceCount(sizes, channel_dims), std::nan(""));
  bool equal = true;
  ForEachElement(sizes, PlaceStrides(sizes, channel_dims), literal.element_count(), [&](int64_t i, int64_t place) {
    const double value = literal.GetDouble(i);
    if (std::isnan(values[place])) values[place] = value;
    equal = equal && std::isfinite(value) && values[place] == value;
  });
  if (!equal) return {};
  return values;
}

Literal Transposed(const Literal& literal, absl::Span<const int64_t> permutation) {
  const std::vector<int64_t>& sizes = literal.shape().dimensions;
  const std::vector<int64_t> strides = literal.shape().Strides();
  std::vector<int64_t> new_sizes, new_strides;
  for (const int64_t from : permutation) {
    new_sizes.push_back(sizes[from]);
    new_strides.push_back(strides[from]);
  }
  Literal result(Shape::Array(literal.shape().element_type, new_sizes));
  const int64_t bytes = StorageBytes(literal.shape().element_type);
  const char* from = static_cast<const char*>(literal.raw());
  char* to = static_cast<char*>(result.raw());
  ForEachElement(new_sizes, new_strides, literal.element_count(), [&](int64_t i, int64_t place) {
    std::memcpy(to + i * bytes, from + place * bytes, static_cast<size_t>(bytes));
  });
  return result;
}

}  // namespace smelt::hlo::quantize

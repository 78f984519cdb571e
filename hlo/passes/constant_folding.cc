#include "hlo/passes/constant_folding.h"

#include <vector>

#include "hlo/evaluator/evaluator.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kLargestResult = 1 << 16;  // elements
constexpr double kWorkOfOne = 1 << 22;       // operations, roughly
constexpr double kWorkOfAll = 1 << 28;

bool MayFold(const Instruction& x) {
  if (!x.shape().IsArray() || x.shape().IsDynamic() || x.shape().ElementCount() > kLargestResult) return false;
  if (x.operand_count() == 0 || x.HasControlEdges()) return false;
  switch (x.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kStochasticConvert:
    case Opcode::kSetDimensionSize:
    case Opcode::kGetDimensionSize:
    case Opcode::kDynamicReshape:
      return false;
    // A bitcast keeps elements in memory order, which literals do not have.
    case Opcode::kBitcast:
      return x.shape().HasDefaultLayout() && x.operand(0)->shape().HasDefaultLayout();
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
    case Opcode::kScatter:
    case Opcode::kMap:
      return true;
    default:
      break;
  }
  const OpcodeCategory category = GetOpcodeInfo(x.opcode()).category;
  return category <= OpcodeCategory::kShapeOnly || category == OpcodeCategory::kDataMovement;
}

// Operations that evaluating takes: never less than the elements read and written.
double WorkOf(const Instruction& x) {
  double work = static_cast<double>(x.shape().ElementCount());
  for (const Instruction* operand : x.operands()) work += static_cast<double>(operand->shape().ElementCount());
  const double results = static_cast<double>(x.shape().ElementCount());
  switch (x.opcode()) {
    case Opcode::kDot: {
      double depth = 1;
      for (int64_t d : x.attributes<DotAttributes>().lhs_contracting) {
        depth *= static_cast<double>(x.operand(0)->shape().dimensions[d]);
      }
      return work + results * depth;
    }
    case Opcode::kConvolution:
      return work + results * static_cast<double>(x.operand(1)->shape().ElementCount());
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter: {
      double window = 1;
      for (const WindowDimension& d : x.attributes<WindowAttributes>().window.dimensions) {
        window *= static_cast<double>(d.size);
      }
      return work * window;
    }
    default:
      return work;
  }
}

bool IsBroadcastConstant(const Instruction& x) {
  return x.opcode() == Opcode::kBroadcast && KnownLiteral(*x.operand(0)) != nullptr &&
         x.shape().ElementCount() <= kLargestResult;
}

// All operands are known and one of them is a constant of its own.
bool HasKnownOperands(const Instruction& x) {
  bool has_constant = false;
  for (const Instruction* operand : x.operands()) {
    if (KnownLiteral(*operand) != nullptr) {
      has_constant = true;
    } else if (!IsBroadcastConstant(*operand)) {
      return false;
    }
  }
  return has_constant;
}

absl::StatusOr<Literal> Fold(const Instruction& x) {
  EvaluateOptions options;
  options.threads = 1;
  std::vector<Literal> broadcast;
  broadcast.reserve(x.operand_count());
  std::vector<const Literal*> operands;
  for (const Instruction* operand : x.operands()) {
    if (const Literal* literal = KnownLiteral(*operand)) {
      operands.push_back(literal);
      continue;
    }
    absl::StatusOr<Literal> value = EvaluateInstruction(*operand, {KnownLiteral(*operand->operand(0))}, options);
    if (!value.ok()) return value.status();
    broadcast.push_back(*std::move(value));
    operands.push_back(&broadcast.back());
  }
  return EvaluateInstruction(x, operands, options);
}

}  // namespace

absl::StatusOr<bool> FoldConstants(Module& module) {
  double work_left = kWorkOfAll;
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (!MayFold(*instruction) || !HasKnownOperands(*instruction)) continue;
      const double work = WorkOf(*instruction);
      if (work > kWorkOfOne || work > work_left) continue;
      work_left -= work;
      absl::StatusOr<Literal> value = Fold(*instruction);
      if (!value.ok()) continue;  // what the evaluator refuses stays for the engine that runs the program to refuse
      GraphBuilder build(*instruction);
      Instruction* constant = build.Constant(*std::move(value));
      constant->shape().layout = instruction->shape().layout;
      if (!Replace(*instruction, constant)) {
        computation->Remove(constant);
        continue;
      }
      if (instruction->user_count() == 0 && !instruction->IsRoot()) computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo

#include "absl/container/flat_hash_set.h"
#include "base/str_cat.h"
#include "hlo/quantize/multiply_shift.h"
#include "hlo/quantize/partition.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {
namespace {

bool IsNarrow(const Instruction& x) {
  return x.shape().element_type == PrimitiveType::kS8 || x.shape().element_type == PrimitiveType::kS32;
}

std::string WhyNotContraction(const Instruction& x) {
  for (const Instruction* operand : x.operands()) {
    if (operand->shape().element_type != PrimitiveType::kS8)
      return StrCat("a ", OpcodeName(x.opcode()), " of ", PrimitiveTypeName(operand->shape().element_type));
  }
  if (x.shape().element_type != PrimitiveType::kS32) return "its sums are no s32";
  return "";
}

}  // namespace

AcceleratorRule Int8AcceleratorRule(const Module& module) {
  auto rescaling = std::make_shared<absl::flat_hash_set<const Instruction*>>();
  for (const Instruction* x : module.entry()->Instructions()) {
    const std::optional<MatchedMultiplyShift> match = MatchMultiplyShift(*x);
    if (!match) continue;
    rescaling->insert(x);
    rescaling->insert(match->interior.begin(), match->interior.end());
  }
  return [rescaling](const Instruction& x) -> std::string {
    if (rescaling->contains(&x)) return "";
    if (!x.shape().IsArray()) return StrCat("gives no array: ", OpcodeName(x.opcode()));
    switch (x.opcode()) {
      case Opcode::kConvolution:
      case Opcode::kDot:
        return WhyNotContraction(x);
      case Opcode::kReduce:
      case Opcode::kReduceWindow: {
        const std::optional<Opcode> by = BinaryOperation(*x.called(0));
        const bool runs = x.operand_count() == 2 && IsNarrow(x) && (by == Opcode::kAdd || by == Opcode::kMaximum);
        return runs ? "" : StrCat("a ", OpcodeName(x.opcode()), " of ", PrimitiveTypeName(x.shape().element_type));
      }
      case Opcode::kConvert:
        if (IsNarrow(x) && IsNarrow(*x.operand(0))) return "";
        return StrCat("converts ", PrimitiveTypeName(x.operand(0)->shape().element_type), " to ",
                      PrimitiveTypeName(x.shape().element_type));
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kClamp:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kSlice:
      case Opcode::kReverse:
      case Opcode::kBroadcast:
      case Opcode::kPad:
      case Opcode::kConcatenate:
        return IsNarrow(x) ? "" : StrCat("computes with ", PrimitiveTypeName(x.shape().element_type));
      default:
        return StrCat("has no ", OpcodeName(x.opcode()), " of ", PrimitiveTypeName(x.shape().element_type));
    }
  };
}

}  // namespace smelt::hlo::quantize

#include "gnn/dataset/kernel_kind.h"

#include <algorithm>
#include <iterator>

namespace smelt::gnn {
namespace {

// Most dominant first.
constexpr hlo::Opcode kDominant[] = {
    hlo::Opcode::kConvolution, hlo::Opcode::kDot,    hlo::Opcode::kReduceWindow,       hlo::Opcode::kReduce,
    hlo::Opcode::kTranspose,   hlo::Opcode::kGather, hlo::Opcode::kDynamicUpdateSlice, hlo::Opcode::kConcatenate,
    hlo::Opcode::kPad,
};

}  // namespace

std::string KernelKind(const hlo::Computation& kernel) {
  size_t best = std::size(kDominant);
  bool opaque = false;
  for (const hlo::Instruction* instruction : kernel.Instructions()) {
    const size_t rank =
        static_cast<size_t>(std::find(std::begin(kDominant), std::end(kDominant), instruction->opcode()) - kDominant);
    best = std::min(best, rank);
    opaque |= hlo::GetOpcodeInfo(instruction->opcode()).category == hlo::OpcodeCategory::kOther &&
              hlo::HasFlag(instruction->opcode(), hlo::kExpensive);
  }
  if (best < std::size(kDominant)) return std::string(hlo::OpcodeName(kDominant[best]));
  return opaque ? "opaque" : "elementwise";
}

}  // namespace smelt::gnn

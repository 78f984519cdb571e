#include "hlo/position.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/opcode.h"

namespace smelt::hlo {
namespace {

constexpr size_t kMost = 64;  // instructions that are looked at

bool OnlyMoves(Opcode opcode) {
  constexpr Opcode kMoves[] = {Opcode::kBitcast, Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kReshape,
                               Opcode::kReverse, Opcode::kSlice,     Opcode::kTranspose};
  return absl::c_linear_search(kMoves, opcode);
}

}  // namespace

bool FollowsFromPosition(const Instruction& x) {
  std::vector<const Instruction*> seen = {&x};
  for (size_t next = 0; next < seen.size(); ++next) {
    const Instruction& at = *seen[next];
    if (at.opcode() == Opcode::kIota) continue;
    if (at.opcode() == Opcode::kConstant && at.shape().ElementCount() == 1) continue;
    if (at.operand_count() == 0 || !(OnlyMoves(at.opcode()) || IsElementwise(at.opcode()))) return false;
    for (const Instruction* operand : at.operands()) {
      if (!absl::c_linear_search(seen, operand)) seen.push_back(operand);
    }
    if (seen.size() > kMost) return false;
  }
  return true;
}

}  // namespace smelt::hlo

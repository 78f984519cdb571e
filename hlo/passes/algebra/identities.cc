#include "hlo/passes/algebra/identities.h"

#include "hlo/rewrite/constants.h"

namespace smelt::hlo {

bool IsIdentityOf(Opcode operation, const Instruction& value) {
  switch (operation) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return IsAll(value, 0);
    case Opcode::kMultiply:
      return IsAll(value, 1);
    case Opcode::kAnd:
      return IsAllOnes(value);
    case Opcode::kMaximum:
      return IsAllLowest(value);
    case Opcode::kMinimum:
      return IsAllHighest(value);
    default:
      return false;
  }
}

}  // namespace smelt::hlo

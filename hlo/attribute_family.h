// Which attribute struct each opcode carries.
//
//   Attributes a = EmptyAttributes(Opcode::kDot);   // holds DotAttributes{}
//
// An instruction whose variant holds another struct than its opcode's is malformed: the verifier refuses it, and the
// parser never makes one.
#pragma once

#include "hlo/attributes.h"
#include "hlo/opcode.h"

namespace smelt::hlo {

const Attributes& EmptyAttributes(Opcode opcode);

inline bool HasFamilyOf(const Attributes& attributes, Opcode opcode) {
  return attributes.index() == EmptyAttributes(opcode).index();
}

}  // namespace smelt::hlo

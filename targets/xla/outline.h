// One instruction as a computation of its own, run by a fusion or a call in its place.
#pragma once

#include <string_view>

#include "hlo/module.h"

namespace smelt::xla {

// Each operand becomes one parameter; what waits for the instruction waits for what replaces it, which is named
// `prefix` and its name. The instruction is gone afterwards.
hlo::Instruction* Outline(hlo::Instruction* instruction, hlo::Opcode opcode, hlo::Attributes attributes,
                          std::string_view prefix);

}  // namespace smelt::xla

// Attributes that are carried as written (Instruction::raw_attributes) as fields of HloInstructionProto: a table of
// names, the opcodes that take them, and two functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "hlo/proto/hlo.pb.h"

namespace smelt::hlo::proto {

// Fills the fields from the attributes that have some; values that do not fit theirs leave them empty.
void WriteCarried(const Instruction& instruction, HloInstructionProto* to);

// What the fields say, as XLA prints it, in a fixed order. `payloads` are the module's; backend configurations may be
// there. InvalidArgument: a payload that is not.
absl::Status ReadCarried(const HloInstructionProto& from, Opcode opcode, const HloModuleProto& module,
                         std::vector<RawAttribute>* attributes);

// Whether a name and a value can be printed and read again as an attribute of this opcode.
bool IsAttributeText(Opcode opcode, const std::string& name, const std::string& value);

}  // namespace smelt::hlo::proto

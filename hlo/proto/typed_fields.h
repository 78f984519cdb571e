// The attributes that change the meaning of an instruction (hlo/attributes.h) as fields of HloInstructionProto, one
// function a family and direction.
#pragma once

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "hlo/proto/hlo.pb.h"

namespace smelt::hlo::proto {

// Literals apart: a constant's value is written with the instruction.
void WriteTyped(const Instruction& instruction, HloInstructionProto* to);

// Fills `attributes`, which hold the family of the opcode. `operands` are those of the instruction: what a comparison
// compares follows from them. InvalidArgument: a value that is none of its kind.
absl::Status ReadTyped(const HloInstructionProto& from, absl::Span<Instruction* const> operands,
                       Attributes* attributes);

// Windows and dimension labels, which custom calls carry too.
void WriteWindow(const smelt::hlo::Window& window, Window* to);
smelt::hlo::Window ReadWindow(const Window& from);
void WriteConvolutionDimensions(const ConvolutionDimensions& dimensions, ConvolutionDimensionNumbers* to);
ConvolutionDimensions ReadConvolutionDimensions(const ConvolutionDimensionNumbers& from);

// Comparisons were opcodes of their own once: `equal-to`, `less-than`. Turns such a proto into a compare.
void RenewOpcode(HloInstructionProto* instruction);

}  // namespace smelt::hlo::proto

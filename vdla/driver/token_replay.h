// Whether a program's tokens add up, before it meets a machine that would wait for ever.
//
//   absl::Status well = ReplayTokens(instructions, isa::Config::Named("pynq").value());
//
// Units run in order and queues of tokens are anonymous, so which unit goes first changes nothing: one replay with the
// machine's own depths decides for every timing. Linear in the number of instructions.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {

// Aborted: units wait for each other, naming every unit's instruction and what it waits for; or tokens are left at the
// end, naming who pushed the first of them.
absl::Status ReplayTokens(absl::Span<const isa::Instruction> instructions, const isa::Config& machine);

}  // namespace smelt::vdla::driver

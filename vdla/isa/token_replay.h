// Replays the tokens of a program without time: whether it ends and leaves no token behind, with the real depths of the
// queues.
//
//   const Config config = Config::Named("pynq").value();
//   const std::vector<Instruction> program = {{.opcode = Opcode::kFinish}};
//   absl::Status well = ReplayTokens(program, config);
//
// Units run in order and queues of tokens are anonymous, so which unit goes first changes nothing: one replay decides
// for every timing. Linear in the number of instructions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// One instruction as far as its tokens matter.
struct TokenStep {
  Unit unit = Unit::kCompute;
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;
};

// The last step of each unit that is known to be done; -1: none. Tokens carry what their pusher knew.
using StepClock = std::array<int64_t, kUnits>;

struct ReplayOptions {
  int64_t token_depth = 64;
  // Instructions that wait in a unit's queue; fetch waits with the next one where it is full.
  int64_t command_depth = std::numeric_limits<int64_t>::max();
  // Called for each step between its pops and its pushes, with what its unit knows then. An error ends the replay.
  std::function<absl::Status(int64_t step, const StepClock& known)> work;
  // How messages name a step: "step 3" where unset.
  std::function<std::string(int64_t step)> name;
};

// Aborted: units wait for each other for ever, naming each with its step and what it waits for; or tokens are left at
// the end, naming who pushed the first of them. Or the error of `work`.
absl::Status ReplayTokens(absl::Span<const TokenStep> steps, const ReplayOptions& options);
// The tokens of a program with the depths of its machine.
absl::Status ReplayTokens(absl::Span<const Instruction> instructions, const Config& machine);

}  // namespace smelt::vdla::isa

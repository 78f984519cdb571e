// Tokens for a sequential program of VDLA: the last step of lowering, after which the units may run beside each other.
//
//   TokenProgram tokens = InsertTokens(instructions, {.dram_base = 1024, .micro_ops = image}, config).value();
//   absl::Status right = CheckTokens(tokens.instructions, {.dram_base = 1024, .micro_ops = image}, config);
//
// What an instruction touches comes from isa::AccessesOf, on the micro-ops that lie in SRAM when it runs: loads of
// micro-ops are followed from the image. token_plan.h says what is kept of the dependences; a no-op of the plan becomes
// a LOAD of no accumulators on compute.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"
#include "vdla/lower/token_plan.h"

namespace smelt::vdla::lower {

// The micro-ops as they lie in DRAM while the program runs.
struct MicroOpImage {
  uint64_t dram_base = 0;  // micro-ops from address 0
  std::vector<isa::MicroOp> micro_ops;
};

struct TokenProgram {
  std::vector<isa::Instruction> instructions;          // in sequential order
  std::array<int64_t, isa::kTokenQueues> tokens = {};  // pushed, by queue
  int64_t no_ops = 0;                                  // added
};

// `instructions` without tokens, in the order of the sequential program; the last one is a FINISH. InvalidArgument: a
// flag that is set already, a FINISH elsewhere, token queues without room.
absl::StatusOr<TokenProgram> InsertTokens(absl::Span<const isa::Instruction> instructions, const MicroOpImage& image,
                                          const isa::Config& config);

// Whether the tokens of a program order all that they must, end and leave nothing behind: CheckTokens of token_check.h
// on the instructions' own accesses. Slow (each byte of DRAM counts): for tests and small programs.
absl::Status CheckTokens(absl::Span<const isa::Instruction> instructions, const MicroOpImage& image,
                         const isa::Config& config);

}  // namespace smelt::vdla::lower

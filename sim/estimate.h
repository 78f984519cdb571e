// The time of a program by formulas, without events: what each instruction takes alone, the longest chain that tokens
// and queues make of them, and the bus as a bound. For tuners, which ask thousands of times; bench/simulator prints its
// error against the cycle simulator.
//
//   Estimate estimate = EstimateCycles(program).value();
//   double seconds = program.config.SecondsOf(estimate.cycles);
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"
#include "vdla/isa/program.h"

namespace smelt::sim {

struct Estimate {
  int64_t cycles = 0;                             // the largest of chain and bus
  int64_t chain = 0;                              // the longest chain of instructions
  int64_t bus = 0;                                // all bytes over the bus, and one latency
  std::array<int64_t, vdla::isa::kUnits> work{};  // cycles of each unit's instructions, one after the other
};

// Cycles that a LOAD or STORE takes where nothing else uses the bus: the start of its rows, padding, the latency, and
// its bytes, or its requests by how many may be under way at once.
int64_t DmaCycles(const vdla::isa::Instruction& instruction, const vdla::isa::Config& config);

// FailedPrecondition: a token is popped that nothing pushes before it (depths of queues are not looked at).
// Micro-ops are taken from the program's constants; where they lie elsewhere, stalls are not counted.
absl::StatusOr<Estimate> EstimateCycles(const vdla::isa::Program& program);

}  // namespace smelt::sim

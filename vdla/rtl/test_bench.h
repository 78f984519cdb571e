// Runs a program on the Verilog core, under Verilator, with DRAM from memory_port.h.
//
//   isa::Program program = isa::ReadProgramFile("conv.vdla").value();
//   std::unique_ptr<sim::Machine> machine = sim::Machine::Create(program.config).value();
//   absl::Status loaded = machine->LoadSegments(program);
//   CoreRun run = RunOnCore(program, machine->dram()).value();   // run.cycles, run.retired; DRAM has what was stored
//
// What a simulator may be compared with: DRAM, the order in which each unit retires its instructions, how many cycles
// each took, and the trap. Each run begins with zeros in the memories on the chip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/dram.h"
#include "sim/trace.h"
#include "vdla/isa/config.h"
#include "vdla/isa/program.h"

namespace smelt::vdla::rtl {

// Why the core stopped; the numbers of instruction.vh.
enum class TrapCode : uint8_t {
  kDecode = 1,    // an instruction that is not legal
  kUop = 2,       // an index outside the micro-ops
  kInp = 3,       // outside the inputs
  kWgt = 4,       // outside the weights
  kAcc = 5,       // outside the accumulators
  kDram = 6,      // an address outside DRAM
  kFinish = 7,    // FINISH before the end, or none at the end
  kDeadlock = 8,  // every unit waits
  kTokens = 9,    // tokens are left after FINISH
};
std::string_view NameOf(TrapCode code);

struct Trap {
  TrapCode code = TrapCode::kDecode;
  int64_t instruction = 0;
  bool operator==(const Trap&) const = default;
};

struct CoreRun {
  int64_t cycles = 0;                 // from the start until the last instruction retired
  std::vector<sim::Retired> retired;  // in the order in which they did; `ready` is not known and equals `start`
  std::optional<Trap> trap;
};

// Unimplemented: no core has the machine's sizes. ResourceExhausted: more than 2^24 - 1 instructions. DeadlineExceeded:
// not done after `most_cycles`.
absl::StatusOr<CoreRun> RunOnCore(const isa::Program& program, sim::Dram& dram, int64_t most_cycles = int64_t{1} << 32);
// Instructions as bytes, which need not be legal: the core says so by a trap.
absl::StatusOr<CoreRun> RunOnCore(const isa::Config& config, std::string_view instructions, sim::Dram& dram,
                                  int64_t most_cycles = int64_t{1} << 32);

// `UNIT NUMBER START END`, a line an instruction, in the order in which they retired.
std::string RetireTrace(const CoreRun& run);

}  // namespace smelt::vdla::rtl

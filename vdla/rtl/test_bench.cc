#include "vdla/rtl/test_bench.h"

#include <array>
#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"
#include "vdla/rtl/core.h"
#include "vdla/rtl/memory_port.h"

namespace smelt::vdla::rtl {
namespace {

constexpr int64_t kMostInstructions = (1 << 24) - 1;
constexpr std::string_view kTrapNames[] = {"none", "decode", "uop",    "inp",      "wgt",
                                           "acc",  "dram",   "finish", "deadlock", "tokens"};

// What the pins tell in one cycle of units that begin, end and retire.
void Observe(const CorePins& pins, int64_t cycle, std::array<sim::Retired, isa::kUnits>& current, CoreRun& run) {
  for (int unit = 0; unit < isa::kUnits; ++unit) {
    const uint32_t bit = 1u << unit;
    sim::Retired& now = current[static_cast<size_t>(unit)];
    if ((pins.begin_work & bit) != 0) {
      now = {.unit = static_cast<isa::Unit>(unit),
             .instruction = pins.unit_number[unit],
             .ready = cycle + 1,
             .start = cycle + 1};
    }
    if ((pins.end_work & bit) != 0) now.end = cycle + 1;
    if ((pins.retire & bit) != 0) {
      now.retired = run.cycles = cycle + 1;
      run.retired.push_back(now);
    }
  }
}

}  // namespace

std::string_view NameOf(TrapCode code) {
  const auto index = static_cast<size_t>(code);
  return index < std::size(kTrapNames) ? kTrapNames[index] : "?";
}

absl::StatusOr<CoreRun> RunOnCore(const isa::Config& config, std::string_view instructions, sim::Dram& dram,
                                  int64_t most_cycles) {
  const auto count = static_cast<int64_t>(instructions.size() / isa::kInstructionBytes);
  if (count > kMostInstructions) {
    return absl::ResourceExhaustedError(
        StrCat("the core numbers instructions with 24 bits, and the program has ", count, " of them"));
  }
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Core> core, OpenCore(config));
  MemoryPort memory(config.timing, core->memory_bytes(), instructions, dram);

  CorePins pins;
  pins.reset = true;
  core->Settle(pins);
  core->Clock();
  pins.reset = false;
  pins.program_address = dram.size();
  pins.program_count = static_cast<uint32_t>(count);
  pins.dram_bytes = dram.size();

  CoreRun run;
  std::array<sim::Retired, isa::kUnits> current;
  for (int64_t cycle = 0; cycle < most_cycles; ++cycle) {
    pins.start = cycle == 0;
    memory.Drive(pins);
    core->Settle(pins);
    memory.Take(pins);
    Observe(pins, cycle, current, run);
    if (pins.trap) run.trap = Trap{static_cast<TrapCode>(pins.trap_code), pins.trap_number};
    if (pins.trap || pins.done) return run;
    core->Clock();
  }
  return absl::DeadlineExceededError(StrCat("the core is not done after ", most_cycles, " cycles"));
}

absl::StatusOr<CoreRun> RunOnCore(const isa::Program& program, sim::Dram& dram, int64_t most_cycles) {
  SMELT_ASSIGN_OR_RETURN(const std::string instructions, isa::EncodeAll(program.instructions));
  return RunOnCore(program.config, instructions, dram, most_cycles);
}

std::string RetireTrace(const CoreRun& run) {
  std::string text;
  for (const sim::Retired& retired : run.retired)
    StrAppend(&text, NameOf(retired.unit), " ", retired.instruction, " ", retired.start, " ", retired.end, "\n");
  return text;
}

}  // namespace smelt::vdla::rtl

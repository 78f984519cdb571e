// Runs instructions on a machine, either at once (functional) or cycle by cycle, and says what happened: how long each
// unit worked and what it waited for, races, deadlocks, traps.
//
//   std::unique_ptr<Machine> machine = Machine::Create(program.config).value();
//   absl::Status loaded = machine->LoadSegments(program);
//   Report report = Simulate(*machine, program.instructions, {.timing = Timing::kCycle});
//   if (report.end != End::kFinished) std::fputs(report.message.c_str(), stderr);
//
// Both timings run the same executor (executor.h) in an order that the tokens allow, so that DRAM ends equal in both
// where there is no race. docs/vdla.md ("Time") has the model. Equal arguments give equal reports, but for a limit of
// seconds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "sim/machine.h"
#include "vdla/isa/instruction.h"

namespace smelt::sim {

class Trace;

enum class Timing : uint8_t {
  kFunctional,  // everything takes no time: for results alone
  kCycle,       // the model of docs/vdla.md
};

struct Options {
  Timing timing = Timing::kCycle;
  bool find_races = true;
  int64_t max_races = 16;  // that are reported; all are counted
  int64_t max_cycles = std::numeric_limits<int64_t>::max() / 4096;
  double max_seconds = 0;                     // of wall-clock time; 0: no limit
  const std::atomic<bool>* cancel = nullptr;  // true: end soon, as if the time were over
  Trace* trace = nullptr;                     // what each unit did when (trace.h); without time, all at 0
};

// How a run ended.
enum class End : uint8_t {
  kFinished,
  kIllegal,         // the instructions are refused before any runs (CheckInstructions)
  kTrap,            // an index outside a memory or DRAM
  kDeadlock,        // every unit waits for ever
  kLeftoverTokens,  // all ran, and a queue holds tokens
  kLimit,           // of cycles or seconds, or cancelled
};

// Cycles of one unit by what it did; they sum to Report::cycles, but for thousandths that DMA leaves.
struct UnitReport {
  int64_t instructions = 0;
  double busy = 0;   // computing; moving data of its own over the bus; padding
  double token = 0;  // waiting for a token, or for room to give one
  double dma = 0;    // waiting for DRAM: latency, the bus that others use, the start of rows
  double port = 0;   // waiting for a memory on the chip that DMA writes or reads
  double queue = 0;  // without an instruction: none has been fetched, or all have run
};

// Two accesses that no token orders, one of them a write.
struct Race {
  int64_t first = 0, second = 0;  // instructions, in the order in which this run met them
  std::string what;               // "INP element 12", "DRAM bytes 4096 to 4351"
  std::string message;            // the whole sentence, with both instructions
};

struct Report {
  End end = End::kFinished;
  std::string message;       // where `end` is not kFinished: what happened, to which instruction, who waits for what
  int64_t instruction = -1;  // that trapped; -1: none
  int64_t cycles = 0;        // until the last unit was done; 0 for the functional timing
  double seconds = 0;        // of the machine's clock
  std::array<UnitReport, vdla::isa::kUnits> units;
  int64_t gemm_micro_ops = 0;  // that multiply: resets do not count
  int64_t gemm_stalls = 0;     // cycles in which a micro-op waited for an accumulator
  int64_t alu_micro_ops = 0;
  int64_t dram_read_bytes = 0, dram_written_bytes = 0, fetched_bytes = 0;
  double bus_busy = 0;       // cycles
  double fetch_blocked = 0;  // cycles in which fetch waited for room in a queue
  int64_t events = 0;
  int64_t race_count = 0;
  std::vector<Race> races;

  // Share of the cycles in which a micro-op multiplied.
  double Utilisation() const {
    return cycles > 0 ? static_cast<double>(gemm_micro_ops) / static_cast<double>(cycles) : 0;
  }
  // Ok: finished without races. Aborted: races. Else by `end`, with the message.
  absl::Status ToStatus() const;
};

Report Simulate(Machine& machine, absl::Span<const vdla::isa::Instruction> instructions, const Options& options = {});

}  // namespace smelt::sim

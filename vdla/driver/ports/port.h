// What the driver asks of a machine, and no more: its sizes, memory, and to run instructions that lie in that memory.
// Simulators, cards and the fake that injects faults each implement it; everything else of the driver is the same for
// all of them.
//
//   std::unique_ptr<Port> port = OpenPort("cycle:machine=pynq").value();
//   uint64_t address = port->Allocate(/*bytes=*/16, /*alignment=*/256).value();
//   isa::EncodedInstruction finish = isa::Encode({.opcode = isa::Opcode::kFinish}).value();
//   uint64_t moved = port->Write(address, finish).value();
//   RunResult result = port->Run(address, /*count=*/1, /*timeout_seconds=*/1.0).value();
//
// No call is made while another one runs: the device sees to it. A port never throws and never waits without a limit.
//
// Errors, which the C API hands on as codes (vdla.h):
//   InvalidArgument     an address, a size or an option that makes no sense; instructions that are illegal
//   NotFound            no such port, library, file or card
//   ResourceExhausted   no room in the machine's memory
//   FailedPrecondition  the machine is another one than it was opened as
//   Aborted             the program trapped, waits for tokens for ever or left tokens behind: names the instruction
//   DeadlineExceeded    the time-out passed
//   DataLoss            a copy moved nothing or damaged data
//   Unavailable         the machine is gone, or in a state that only opening it again can end
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {

// Cycles of one unit. They sum to the cycles of the run.
struct UnitCycles {
  uint64_t busy = 0;
  uint64_t token = 0;  // waiting for a token, or for room for one
  uint64_t dma = 0;    // waiting for DRAM
  uint64_t port = 0;   // waiting for a memory of the chip
  uint64_t queue = 0;  // with no instruction to run
};

struct RunResult {
  bool timed = false;   // whether the machine counts cycles; the figures below are zero where it does not
  uint64_t cycles = 0;  // from the start until all units are idle
  // One for each isa::Unit. All zeros where a machine counts only its cycles.
  std::array<UnitCycles, isa::kUnits> units = {};
};

class Port {
 public:
  virtual ~Port() = default;
  // The name by which it was opened, without options: "cycle".
  virtual std::string_view name() const = 0;
  // Sizes, clock and timing. Does not change.
  virtual const isa::Config& machine() const = 0;

  // A range of the machine's memory that is no other's, at a multiple of `alignment` (any number above zero). Its bytes
  // are whatever was there.
  virtual absl::StatusOr<uint64_t> Allocate(uint64_t bytes, uint64_t alignment) = 0;
  // An address that Allocate gave.
  virtual absl::Status Free(uint64_t address) = 0;

  // How many bytes were moved, from the first on: a port may move fewer than it was asked for, and the device goes on
  // behind them. The range lies in one that Allocate gave.
  virtual absl::StatusOr<uint64_t> Write(uint64_t address, absl::Span<const uint8_t> bytes) = 0;
  virtual absl::StatusOr<uint64_t> Read(uint64_t address, absl::Span<uint8_t> bytes) = 0;

  // Runs `count` encoded instructions that lie at `address`, a multiple of 16, until FINISH has ended. Gives up after
  // that many seconds.
  virtual absl::StatusOr<RunResult> Run(uint64_t address, uint64_t count, double timeout_seconds) = 0;
};

}  // namespace smelt::vdla::driver

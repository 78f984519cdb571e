// A Verilog core that Verilator made into C++: its pins, one clock cycle at a time.
//
//   std::unique_ptr<Core> core = OpenCore(isa::Config::Named("pynq").value()).value();
//   CorePins pins;
//   core->Settle(pins);   // outputs of this cycle, from its inputs
//   core->Clock();        // the rising edge
//
// The pins are those of vdla.v, which says what they mean. Memories and registers start as zeros. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::rtl {

inline constexpr int kMostMemoryBytes = 64;

struct CorePins {
  // Into the core.
  bool reset = false, start = false;
  uint64_t program_address = 0, dram_bytes = 0;  // bytes
  uint32_t program_count = 0;                    // instructions
  uint32_t read_ready = 0;                       // a bit a unit that reads: fetch, compute, load
  bool data_valid = false, write_ready = false, write_done = false;
  uint32_t data_unit = 0, data_bytes = 0;
  uint8_t data[kMostMemoryBytes] = {};
  // Out of it.
  bool done = false, trap = false;
  uint32_t trap_code = 0, trap_number = 0;
  bool read_valid = false, data_ready = false, write_valid = false;
  uint32_t read_unit = 0, read_bytes = 0, write_bytes = 0;
  uint64_t read_address = 0, write_address = 0;
  uint8_t write_data[kMostMemoryBytes] = {};
  uint32_t begin_work = 0, end_work = 0, retire = 0;  // a bit a unit: load, compute, store
  uint32_t unit_number[isa::kUnits] = {};
};

class Core {
 public:
  virtual ~Core() = default;
  // Bytes of a beat of the memory's port.
  virtual int memory_bytes() const = 0;
  virtual void Settle(CorePins& pins) = 0;
  virtual void Clock() = 0;
};

// Unimplemented: no core was built for a machine of these sizes; the message names those that were.
absl::StatusOr<std::unique_ptr<Core>> OpenCore(const isa::Config& config);

}  // namespace smelt::vdla::rtl

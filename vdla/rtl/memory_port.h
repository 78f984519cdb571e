// DRAM as the core's memory port sees it: latency, and a bus of so many bytes a cycle that reads and writes share.
//
//   const isa::Config pynq = isa::Config::Named("pynq").value();
//   std::unique_ptr<sim::Dram> memory = sim::Dram::Create(pynq.dram_bytes).value();
//   MemoryPort port(pynq.timing, /*beat_bytes=*/8, /*instructions=*/"", *memory);
//   CorePins pins;
//   port.Drive(pins);   // before the core settles: what the memory shows
//   port.Take(pins);    // after it: what was taken and given
//
// Requests are answered in their order, a beat at a time; what comes later waits for nothing but the bus. A request
// reads what DRAM holds when it comes, and a write is there when it is acknowledged, so that a core which waits for too
// little reads what is old. The program's instructions lie behind the last byte of DRAM, where no instruction reaches.
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "sim/dram.h"
#include "vdla/isa/config.h"
#include "vdla/rtl/core.h"

namespace smelt::vdla::rtl {

class MemoryPort {
 public:
  // `instructions` and `dram` must outlive it.
  MemoryPort(const isa::Timing& timing, int beat_bytes, std::string_view instructions, sim::Dram& dram);
  void Drive(CorePins& pins);
  void Take(const CorePins& pins);

 private:
  struct Request {
    uint32_t unit;
    uint32_t given;  // bytes
    int64_t ready;   // cycle of its first beat
    std::vector<uint8_t> data;
  };
  struct Write {
    uint64_t address;
    int64_t done;  // cycle of its acknowledgement
    std::vector<uint8_t> data;
  };
  const uint8_t* At(uint64_t address, uint32_t bytes) const;

  const isa::Timing timing_;
  const uint32_t beat_bytes_;
  const std::string_view instructions_;
  sim::Dram& dram_;
  int64_t cycle_ = 0;
  int64_t budget_ = 0;           // thousandths of a byte that the bus may move by now
  bool write_was_last_ = false;  // reads and writes take turns
  std::deque<Request> requests_;
  std::array<int64_t, 3> outstanding_{};  // by the unit that reads
  std::deque<Write> writes_;
};

}  // namespace smelt::vdla::rtl

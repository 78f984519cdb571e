// A machine of the VDLA family: sizes, clock and timing, every number a field of a JSON file. The instruction set is
// the same for all of them.
//
//   Config pynq = Config::Named("pynq").value();      // the machine of the TVM paper, Section 6.4
//   int64_t depth = pynq.DepthOf(Memory::kWgt);       // 128 elements of 16 x 16 int8
//   Config mine = Config::Open("machines/mine.json").value_or(pynq);
//
// `pynq` and `big` are built in (vdla/configs/); any other machine is a file of that form. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// Cycles of the clock, unless said otherwise. docs/vdla.md ("Time") has the rules that these figures stand in.
struct Timing {
  double dram_bytes_per_cycle = 0;     // of the one bus that all units share; thousandths count
  int64_t dram_latency = 0;            // from a request to its first byte
  int64_t burst_bytes = 0;             // longest request; bursts do not cross multiples of it
  int64_t outstanding_requests = 0;    // of one unit
  int64_t row_cycles = 0;              // before the first request of each row of a DMA in DRAM
  int64_t pad_elements_per_cycle = 0;  // that a LOAD writes without DRAM
  int64_t gemm_drain = 0;              // after the last micro-op of a GEMM
  int64_t gemm_raw_distance = 0;       // from a write of an accumulator to the next one of the same
  int64_t alu_drain = 0;
  int64_t alu_tensor_cycles = 0;  // of one micro-op with two accumulators
  int64_t alu_immediate_cycles = 0;
  int64_t fetch_instructions = 0;  // read by one request of the fetch unit
  int64_t fetch_cycles = 0;        // for each instruction that is put into a queue
  int64_t token_cycles = 0;        // from a push until a unit may pop
  int64_t sram_ports = 0;          // 2: DMA and computation have one each; 1: an element that DMA moves delays a cycle
  bool operator==(const Timing&) const = default;
};

struct Config {
  std::string name;
  int64_t version = kVersion;
  int64_t batch = 0, block_in = 0, block_out = 0;  // rows of an input, its lanes, lanes of an accumulator
  int64_t clock_hz = 0;
  int64_t inp_bytes = 0, wgt_bytes = 0, acc_bytes = 0, uop_bytes = 0;  // of the memories on the chip
  int64_t dram_bytes = 0;
  int64_t command_queue_depth = 0;  // instructions of one unit
  int64_t token_queue_depth = 0;    // tokens of one queue
  Timing timing;
  bool operator==(const Config&) const = default;

  // A machine that is built in. NotFound lists those that there are.
  static absl::StatusOr<Config> Named(std::string_view name);
  static std::vector<std::string> Names();
  // From JSON; `origin` stands in messages. InvalidArgument: no JSON, a field that is missing, unknown, no number or
  // outside its limits, each by name; or what Check refuses.
  static absl::StatusOr<Config> Parse(std::string_view json, std::string_view origin);
  // What Named has, else a file. NotFound, naming both, where it is neither.
  static absl::StatusOr<Config> Open(const std::string& name_or_path);
  // JSON that Parse reads back to an equal machine.
  std::string ToJson() const;
  // Whether the encoding has room for it: sizes are whole numbers of elements, depths within kMostElements.
  absl::Status Check() const;

  // Bytes of an element as it lies in DRAM: 16, 256, 64, 16 and 4 for inp, wgt, acc, acc8 and uop of `pynq`.
  int64_t DramElementBytes(Memory memory) const;
  // Bytes of an element in SRAM: the same, but an accumulator's for acc8.
  int64_t SramElementBytes(Memory memory) const;
  // Elements that the memory holds; acc8 is a form of acc.
  int64_t DepthOf(Memory memory) const;
  // Multiplications of a micro-op of GEMM.
  int64_t MacsOfGemm() const { return batch * block_in * block_out; }
  double SecondsOf(int64_t cycles) const { return static_cast<double>(cycles) / static_cast<double>(clock_hz); }
};

// The most elements that the encoding can name in a memory, by Memory: micro-ops 16384, weights 256, inputs and
// accumulators 4096.
inline constexpr int64_t kMostElements[kMemories] = {16384, 256, 4096, 4096, 4096};

}  // namespace smelt::vdla::isa

#include "sim/issue.h"

#include <algorithm>
#include <vector>

namespace smelt::sim {

using vdla::isa::Config;
using vdla::isa::GemmMode;
using vdla::isa::Instruction;
using vdla::isa::MicroOp;
using vdla::isa::Opcode;

namespace {
constexpr int64_t kMicroOpsBetweenStops = 1 << 24;
}  // namespace

int64_t GemmStalls(const Instruction& i, absl::Span<const MicroOp> micro_ops, const Config& config,
                   absl::FunctionRef<bool()> stop) {
  const int64_t distance = config.timing.gemm_raw_distance;
  if (i.mode == GemmMode::kReset || distance <= 1 || MicroOpsOf(i) <= 1) return 0;
  const auto depth = static_cast<uint64_t>(config.DepthOf(vdla::isa::Memory::kAcc));
  std::vector<int64_t> free(depth, 0);  // the first cycle in which a micro-op may write the accumulator
  int64_t now = 0, ideal = 0;           // the next cycle of issue
  int64_t next_stop = kMicroOpsBetweenStops;
  for (uint64_t o = 0; o < i.iter_out; ++o) {
    for (uint64_t n = 0; n < i.iter_in; ++n) {
      if (ideal >= next_stop) {
        if (stop()) return now - ideal;
        next_stop = ideal + kMicroOpsBetweenStops;
      }
      const uint64_t offset = o * i.dst_out + n * i.dst_in;
      for (const MicroOp& op : micro_ops) {
        const uint64_t at = op.dst + offset;
        if (at >= depth) return now - ideal;  // the unit traps here
        now = std::max(now, free[at]);
        free[at] = now + distance;
        ++now;
        ++ideal;
      }
    }
  }
  return now - ideal;
}

int64_t ComputeCycles(const Instruction& i, absl::Span<const MicroOp> micro_ops, const Config& config, int64_t* stalls,
                      absl::FunctionRef<bool()> stop) {
  const auto count = static_cast<int64_t>(MicroOpsOf(i));
  const bool gemm = i.opcode == Opcode::kGemm;
  const int64_t waits = gemm ? GemmStalls(i, micro_ops, config, stop) : 0;
  if (stalls != nullptr) *stalls = waits;
  if (gemm) return count + waits + config.timing.gemm_drain;
  return count * (i.use_imm ? config.timing.alu_immediate_cycles : config.timing.alu_tensor_cycles) +
         config.timing.alu_drain;
}

}  // namespace smelt::sim

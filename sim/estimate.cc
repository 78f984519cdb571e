#include "sim/estimate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "base/str_cat.h"
#include "sim/dma.h"
#include "sim/executor.h"
#include "sim/issue.h"
#include "vdla/isa/encoding.h"

namespace smelt::sim {
namespace {

using vdla::isa::Config;
using vdla::isa::Instruction;
using vdla::isa::kUnits;
using vdla::isa::Memory;
using vdla::isa::MicroOp;
using vdla::isa::Opcode;
using vdla::isa::Program;
using vdla::isa::Segment;
using vdla::isa::TokenQueue;
using vdla::isa::Unit;

// The memory of micro-ops as loads leave it.
class MicroOpMemory {
 public:
  explicit MicroOpMemory(const Program& program)
      : program_(program), ops_(static_cast<size_t>(program.config.DepthOf(Memory::kUop))) {}

  void Load(const Instruction& i) {
    for (uint64_t row = 0; row < i.y_size; ++row) {
      for (uint64_t x = 0; x < i.x_size; ++x) {
        const uint64_t to = i.sram_base + row * i.x_size + x;
        if (to < ops_.size())
          ops_[to] = vdla::isa::DecodeMicroOp(WordAt((i.dram_base + row * i.x_stride + x) * vdla::isa::kMicroOpBytes));
      }
    }
  }
  absl::Span<const MicroOp> Of(const Instruction& i) const {
    if (i.uop_begin >= ops_.size()) return {};
    return absl::MakeSpan(ops_).subspan(i.uop_begin, std::min<size_t>(i.uop_count, ops_.size() - i.uop_begin));
  }

 private:
  uint32_t WordAt(uint64_t address) {
    if (segment_ == nullptr || address < segment_->address || address >= segment_->address + segment_->bytes.size()) {
      segment_ = nullptr;
      for (const Segment& segment : program_.segments) {
        if (segment.role == vdla::isa::Role::kConstant && address >= segment.address &&
            address + 4 <= segment.address + segment.bytes.size())
          segment_ = &segment;
      }
    }
    uint32_t word = 0;
    if (segment_ == nullptr || address + 4 > segment_->address + segment_->bytes.size()) return word;
    for (int b = 3; b >= 0; --b)
      word = word << 8 | static_cast<uint8_t>(segment_->bytes[address - segment_->address + static_cast<uint64_t>(b)]);
    return word;
  }

  const Program& program_;
  std::vector<MicroOp> ops_;
  const Segment* segment_ = nullptr;
};

int64_t BusCycles(int64_t bytes, const Config& config) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) / config.timing.dram_bytes_per_cycle));
}

// What the units have done up to an instruction of the program, as times.
class Chain {
 public:
  explicit Chain(const Config& config) : config_(config) {}

  // The instruction of that duration, fetched at `fetched`. False: a token of it has not been pushed by any instruction
  // before it in the program, nor will be by those that are put off.
  bool Run(const Instruction& i, int64_t fetched, int64_t cycles) {
    const Unit unit = UnitOf(i);
    int64_t start = std::max(fetched, free_[static_cast<size_t>(unit)]);
    for (const bool take : {false, true}) {
      for (const bool next : {false, true}) {
        TokenQueue queue;
        if (!(next ? i.pop_next : i.pop_prev) || !QueueOfPop(unit, next, &queue)) continue;
        std::deque<int64_t>& tokens = tokens_[static_cast<size_t>(queue)];
        if (!take && tokens.empty()) return false;
        if (!take) continue;
        start = std::max(start, tokens.front());
        tokens.pop_front();
      }
    }
    const int64_t end = free_[static_cast<size_t>(unit)] = start + cycles;
    for (const bool next : {false, true}) {
      TokenQueue queue;
      if ((next ? i.push_next : i.push_prev) && QueueOfPush(unit, next, &queue))
        tokens_[static_cast<size_t>(queue)].push_back(end + config_.timing.token_cycles);
    }
    return true;
  }
  int64_t end() const { return *std::max_element(free_.begin(), free_.end()); }

 private:
  const Config& config_;
  std::array<int64_t, kUnits> free_{};
  std::array<std::deque<int64_t>, vdla::isa::kTokenQueues> tokens_;
};

}  // namespace

int64_t DmaCycles(const Instruction& i, const Config& config) {
  DmaRequests requests(i, config);
  const int64_t bytes = requests.total_bytes();
  if (bytes == 0) return std::max<int64_t>(1, requests.pad_cycles());
  const int64_t count = requests.CountRequests();
  const int64_t transfer = BusCycles(bytes, config);
  const int64_t issue = requests.issue_cycles() + count;
  // So many requests are under way in a latency and the transfer of one.
  const int64_t round = (count + config.timing.outstanding_requests - 1) / config.timing.outstanding_requests;
  const int64_t rounds = round * (config.timing.dram_latency + transfer / count);
  return std::max({issue + config.timing.dram_latency + transfer / count,
                   requests.issue_cycles() / std::max<int64_t>(1, requests.rows()) + 1 + config.timing.dram_latency +
                       transfer,
                   rounds}) +
         requests.tail();
}

absl::StatusOr<Estimate> EstimateCycles(const Program& program) {
  const Config& config = program.config;
  Estimate estimate;
  MicroOpMemory micro_ops(program);
  Chain chain(config);
  int64_t bytes = 0;
  struct Work {
    const Instruction* instruction;
    int64_t number, fetched, cycles;
  };
  std::array<std::deque<Work>, kUnits> queues;
  for (size_t number = 0; number < program.instructions.size(); ++number) {
    const Instruction& i = program.instructions[number];
    int64_t cycles = 1;
    if (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore) {
      cycles = DmaCycles(i, config);
      bytes += DmaRequests(i, config).total_bytes();
      if (i.memory == Memory::kUop) micro_ops.Load(i);
    } else if (i.opcode != Opcode::kFinish) {
      cycles = ComputeCycles(i, micro_ops.Of(i), config);
    }
    estimate.work[static_cast<size_t>(UnitOf(i))] += cycles;
    const auto count = static_cast<int64_t>(number);
    const int64_t fetched = config.timing.dram_latency +
                            BusCycles(config.timing.fetch_instructions * vdla::isa::kInstructionBytes, config) +
                            (count + 1) * config.timing.fetch_cycles;
    queues[static_cast<size_t>(UnitOf(i))].push_back({&i, count, fetched, cycles});
    // Whatever its tokens allow runs; tokens of a later instruction of the program may let an earlier one of another
    // unit go on.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::deque<Work>& queue : queues) {
        while (!queue.empty() && chain.Run(*queue.front().instruction, queue.front().fetched, queue.front().cycles)) {
          queue.pop_front();
          moved = true;
        }
      }
    }
  }
  for (const std::deque<Work>& queue : queues) {
    if (queue.empty()) continue;
    return absl::FailedPreconditionError(
        StrCat(Describe(*queue.front().instruction, queue.front().number), ": waits for a token that nothing pushes"));
  }
  estimate.chain = chain.end();
  estimate.bus =
      BusCycles(bytes + static_cast<int64_t>(program.instructions.size()) * vdla::isa::kInstructionBytes, config) +
      config.timing.dram_latency;
  estimate.cycles = std::max(estimate.chain, estimate.bus);
  return estimate;
}

}  // namespace smelt::sim

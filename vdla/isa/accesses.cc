#include "vdla/isa/accesses.h"

#include <algorithm>
#include <bitset>
#include <tuple>

namespace smelt::vdla::isa {
namespace {

constexpr size_t kWidest = 4096;  // elements of the inputs and accumulators; weights have fewer
using Elements = std::bitset<kWidest>;

// The union of `set` moved by 0, step, ..., (count - 1) * step: twice as many in each round. What moves out is outside
// every memory.
Elements Repeat(Elements set, uint64_t step, uint64_t count) {
  if (count == 0) return {};
  if (step == 0) return set;
  for (uint64_t have = 1; have < count && have * step < kWidest;) {
    const uint64_t more = std::min(have, count - have);
    set |= set << (more * step);
    have += more;
  }
  return set;
}

// What lies in [begin, end) as runs: ranges that touch are one, and equal ranges at equal distances are one run.
void AddRuns(const Elements& set, int64_t depth, Space space, bool write, Accesses* out) {
  const size_t first = out->size();
  const auto limit = std::min(kWidest, static_cast<size_t>(depth));
  for (size_t at = set._Find_first(); at < limit;) {
    size_t end = at + 1;
    while (end < limit && set[end]) ++end;
    const uint64_t length = end - at;
    Run* last = out->size() > first ? &out->back().run : nullptr;
    if (last != nullptr && last->length == length &&
        (last->count == 1 || at == last->begin + last->count * last->stride)) {
      if (last->count == 1) last->stride = at - last->begin;
      ++last->count;
    } else {
      out->push_back({space, write, {at, length, 0, 1}});
    }
    at = end < limit ? set._Find_next(end) : limit;
  }
}

// Rows of a DMA; rows that overlap or touch are one range.
void AddRows(Space space, bool write, uint64_t begin, uint64_t length, uint64_t stride, uint64_t count, uint64_t limit,
             Accesses* out) {
  if (length == 0 || count == 0 || begin >= limit) return;
  Run run{begin, length, stride, count};
  if (count == 1 || stride <= length) run = {begin, (count - 1) * stride + length, 0, 1};
  if (run.end() > limit) {
    if (run.count > 1) run.count = std::min(run.count, (limit - begin + run.stride - 1) / run.stride);
    if (run.count == 1) {
      run.stride = 0;
      run.length = std::min(run.length, limit - begin);
    } else if (run.end() > limit) {
      const uint64_t last = run.begin + (run.count - 1) * run.stride;  // a part of the last row is inside
      --run.count;
      if (run.count == 1) run.stride = 0;
      out->push_back({space, write, run});
      run = {last, limit - last, 0, 1};
    }
  }
  out->push_back({space, write, run});
}

void AddMove(const Instruction& i, const Config& config, Accesses* out) {
  const auto element = static_cast<uint64_t>(config.DramElementBytes(i.memory));
  const bool load = i.opcode == Opcode::kLoad;
  AddRows(SpaceOf(i.memory), load, i.sram_base, SramRowsOf(i) * SramRowElementsOf(i), 0, 1,
          static_cast<uint64_t>(config.DepthOf(i.memory)), out);
  AddRows(Space::kDram, !load, i.dram_base * element, i.x_size * element, i.x_stride * element, i.y_size,
          static_cast<uint64_t>(config.dram_bytes), out);
}

// One index of the micro-ops, over the nest.
template <typename Index>
Elements Touched(const Instruction& i, absl::Span<const MicroOp> micro_ops, Index index, uint32_t out, uint32_t in) {
  Elements set;
  if (micro_ops.size() < i.uop_count) {
    if (i.uop_count > 0) set.set();
  } else {
    for (uint32_t u = 0; u < i.uop_count; ++u) {
      const uint32_t at = index(micro_ops[u]);
      if (at < kWidest) set.set(at);
    }
  }
  return Repeat(Repeat(set, in, i.iter_in), out, i.iter_out);
}

void AddNest(const Instruction& i, absl::Span<const MicroOp> micro_ops, const Config& config, Accesses* out) {
  if (MicroOpsOf(i) == 0) return;
  const auto dst = [](const MicroOp& op) { return op.dst; };
  const auto src = [](const MicroOp& op) { return op.src; };
  const auto wgt = [](const MicroOp& op) { return op.wgt; };
  const bool gemm = i.opcode == Opcode::kGemm;
  const Elements written = Touched(i, micro_ops, dst, i.dst_out, i.dst_in);
  Elements read;
  if (gemm ? i.mode == GemmMode::kAccumulate : true) read = written;
  if (gemm && i.mode != GemmMode::kReset) {
    AddRuns(Touched(i, micro_ops, wgt, i.wgt_out, i.wgt_in), config.DepthOf(Memory::kWgt), Space::kWgt, false, out);
    AddRuns(Touched(i, micro_ops, src, i.src_out, i.src_in), config.DepthOf(Memory::kInp), Space::kInp, false, out);
  }
  if (!gemm && !i.use_imm) read |= Touched(i, micro_ops, src, i.src_out, i.src_in);
  AddRows(Space::kUop, false, i.uop_begin, i.uop_count, 0, 1, static_cast<uint64_t>(config.DepthOf(Memory::kUop)), out);
  AddRuns(read, config.DepthOf(Memory::kAcc), Space::kAcc, false, out);
  AddRuns(written, config.DepthOf(Memory::kAcc), Space::kAcc, true, out);
}

// Whether a range of the run lies in or over the edge of [begin, end).
bool Meets(const Run& run, uint64_t begin, uint64_t end) {
  if (begin >= run.end() || end <= run.begin) return false;
  if (run.count == 1) return true;
  // The first range that ends after `begin`.
  const uint64_t past = run.begin + run.length;
  const uint64_t index = begin < past ? 0 : (begin - past) / run.stride + 1;
  return index < run.count && run.begin + index * run.stride < end;
}

}  // namespace

Space SpaceOf(Memory memory) { return memory == Memory::kAcc8 ? Space::kAcc : static_cast<Space>(memory); }

std::string_view NameOf(Space space) { return space == Space::kDram ? "DRAM" : NameOf(static_cast<Memory>(space)); }

bool Overlap(const Run& a, const Run& b) {
  if (a.begin >= b.end() || b.begin >= a.end()) return false;
  const Run& fewer = a.count <= b.count ? a : b;
  const Run& other = a.count <= b.count ? b : a;
  for (uint64_t i = 0; i < fewer.count; ++i) {
    const uint64_t begin = fewer.begin + i * fewer.stride;
    if (Meets(other, begin, begin + fewer.length)) return true;
  }
  return false;
}

Accesses AccessesOf(const Instruction& instruction, absl::Span<const MicroOp> micro_ops, const Config& config) {
  Accesses accesses;
  if (instruction.opcode == Opcode::kLoad || instruction.opcode == Opcode::kStore)
    AddMove(instruction, config, &accesses);
  if (instruction.opcode == Opcode::kGemm || instruction.opcode == Opcode::kAlu)
    AddNest(instruction, micro_ops, config, &accesses);
  const auto key = [](const Access& access) { return std::tuple(access.space, access.write, access.run.begin); };
  std::sort(accesses.begin(), accesses.end(), [&](const Access& a, const Access& b) { return key(a) < key(b); });
  return accesses;
}

bool Conflict(const Accesses& a, const Accesses& b) {
  for (const Access& one : a) {
    for (const Access& two : b) {
      if (one.space == two.space && (one.write || two.write) && Overlap(one.run, two.run)) return true;
    }
  }
  return false;
}

}  // namespace smelt::vdla::isa

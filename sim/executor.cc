#include "sim/executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/alu.h"
#include "vdla/isa/encoding.h"

namespace smelt::sim {

using vdla::isa::Instruction;
using vdla::isa::Memory;
using vdla::isa::MicroOp;
using vdla::isa::Opcode;

namespace {

constexpr uint64_t kMacsBetweenStops = uint64_t{1} << 29;  // a few tenths of a second on any processor

absl::Status Trap(const Instruction& i, int64_t number, const std::string& what) {
  return absl::OutOfRangeError(StrCat(Describe(i, number), ": ", what));
}

// An index of a micro-op, for o and n of the two loops.
struct Index {
  const char* name;
  Memory memory;
  uint32_t MicroOp::*base;
  uint32_t out, in;
  uint64_t depth;

  uint64_t At(const MicroOp& op, uint64_t o, uint64_t n) const { return op.*base + o * out + n * in; }
};

// x and y of one micro-op are the lanes at dst and, but for an immediate, at src.
template <int kOp>
void AluLanes(int32_t* x, const int32_t* y, int64_t lanes) {
  for (int64_t lane = 0; lane < lanes; ++lane) x[lane] = vdla::isa::kAluFunctions[kOp](x[lane], y[lane]);
}
template <int kOp>
void AluLanesImmediate(int32_t* x, int32_t y, int64_t lanes) {
  for (int64_t lane = 0; lane < lanes; ++lane) x[lane] = vdla::isa::kAluFunctions[kOp](x[lane], y);
}
using TensorLanes = void (*)(int32_t*, const int32_t*, int64_t);
using ImmediateLanes = void (*)(int32_t*, int32_t, int64_t);
template <int... kOps>
constexpr std::array<TensorLanes, sizeof...(kOps)> TensorTable(std::integer_sequence<int, kOps...>) {
  return {AluLanes<kOps>...};
}
template <int... kOps>
constexpr std::array<ImmediateLanes, sizeof...(kOps)> ImmediateTable(std::integer_sequence<int, kOps...>) {
  return {AluLanesImmediate<kOps>...};
}
constexpr auto kTensorLanes = TensorTable(std::make_integer_sequence<int, vdla::isa::kAluOps>());
constexpr auto kImmediateLanes = ImmediateTable(std::make_integer_sequence<int, vdla::isa::kAluOps>());

}  // namespace

std::string Describe(const Instruction& i, int64_t number) {
  std::string text = StrCat("instruction ", number, " (", NameOf(i.opcode));
  if (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore) StrAppend(&text, " ", NameOf(i.memory));
  if (i.opcode == Opcode::kAlu) StrAppend(&text, " ", NameOf(i.op));
  return text + ")";
}

Executor::Executor(Machine& machine)
    : machine_(machine),
      block_{machine.config().batch, machine.config().block_in, machine.config().block_out},
      gemm_(BestGemmKernel(block_.block_out)) {}

absl::Status Executor::Execute(const Instruction& i, int64_t number, absl::FunctionRef<bool()> stop) {
  switch (i.opcode) {
    case Opcode::kLoad:
      return Load(i, number);
    case Opcode::kStore:
      return Store(i, number);
    case Opcode::kGemm:
    case Opcode::kAlu:
      return Nest(i, number, stop);
    case Opcode::kFinish:
      return absl::OkStatus();
  }
  return absl::InternalError("no such opcode");
}

absl::Span<const MicroOp> Executor::MicroOps(const Instruction& i) {
  const uint64_t depth = machine_.uop_.size(), begin = std::min<uint64_t>(i.uop_begin, depth);
  micro_ops_.clear();
  for (uint64_t u = begin; u < std::min<uint64_t>(depth, begin + i.uop_count); ++u)
    micro_ops_.push_back(vdla::isa::DecodeMicroOp(machine_.uop_[u]));
  return micro_ops_;
}

void Executor::Pad(Memory memory, uint64_t element, uint64_t count, int32_t value) {
  const auto fill = [&](auto& lanes, int64_t per_element) {
    const auto begin = lanes.begin() + static_cast<int64_t>(element) * per_element;
    std::fill(begin, begin + static_cast<int64_t>(count) * per_element,
              static_cast<std::decay_t<decltype(lanes[0])>>(value));
  };
  const int64_t paired = PairedLanes(block_.block_in);
  if (memory == Memory::kInp) fill(machine_.inp_, machine_.inp_lanes_);
  if (memory == Memory::kWgt) fill(machine_.wgt_, machine_.wgt_lanes_);
  if (memory == Memory::kAcc || memory == Memory::kAcc8) fill(machine_.acc_, machine_.acc_lanes_);
  if (paired == block_.block_in) return;
  // The lane that is there only to make pairs stays zero in the inputs; that of a weight then does not matter.
  if (memory != Memory::kInp) return;
  for (uint64_t e = element; e < element + count; ++e) {
    for (int64_t b = 0; b < block_.batch; ++b)
      machine_.inp_[e * static_cast<uint64_t>(machine_.inp_lanes_) + static_cast<uint64_t>((b + 1) * paired - 1)] = 0;
  }
}

void Executor::Copy(Memory memory, uint64_t element, uint64_t count, const uint8_t* from) {
  const int64_t paired = PairedLanes(block_.block_in);
  switch (memory) {
    case Memory::kUop:
      for (uint64_t e = 0; e < count; ++e) {
        const uint8_t* b = from + 4 * e;
        machine_.uop_[element + e] = b[0] | static_cast<uint32_t>(b[1]) << 8 | static_cast<uint32_t>(b[2]) << 16 |
                                     static_cast<uint32_t>(b[3]) << 24;
      }
      return;
    case Memory::kInp: {
      int16_t* to = machine_.inp_.data() + static_cast<int64_t>(element) * machine_.inp_lanes_;
      for (int64_t row = 0; row < static_cast<int64_t>(count) * block_.batch; ++row) {
        for (int64_t k = 0; k < block_.block_in; ++k)
          to[row * paired + k] = static_cast<int8_t>(from[row * block_.block_in + k]);
      }
      return;
    }
    case Memory::kWgt:
      for (uint64_t e = 0; e < count; ++e) {
        int16_t* to = machine_.wgt_.data() + static_cast<int64_t>(element + e) * machine_.wgt_lanes_;
        for (int64_t n = 0; n < block_.block_out; ++n) {
          for (int64_t k = 0; k < block_.block_in; ++k)
            to[PairedWeight(n, k, block_.block_out)] = static_cast<int8_t>(*from++);
        }
      }
      return;
    case Memory::kAcc: {
      int32_t* to = machine_.acc_.data() + static_cast<int64_t>(element) * machine_.acc_lanes_;
      for (int64_t lane = 0; lane < static_cast<int64_t>(count) * machine_.acc_lanes_; ++lane) {
        const uint8_t* b = from + 4 * lane;
        to[lane] = static_cast<int32_t>(b[0] | static_cast<uint32_t>(b[1]) << 8 | static_cast<uint32_t>(b[2]) << 16 |
                                        static_cast<uint32_t>(b[3]) << 24);
      }
      return;
    }
    case Memory::kAcc8: {
      int32_t* to = machine_.acc_.data() + static_cast<int64_t>(element) * machine_.acc_lanes_;
      for (int64_t lane = 0; lane < static_cast<int64_t>(count) * machine_.acc_lanes_; ++lane)
        to[lane] = static_cast<int8_t>(from[lane]);
      return;
    }
  }
}

absl::Status Executor::Load(const Instruction& i, int64_t number) {
  const auto depth = static_cast<uint64_t>(machine_.config_.DepthOf(i.memory));
  const auto bytes = static_cast<uint64_t>(machine_.config_.DramElementBytes(i.memory));
  const uint64_t length = SramRowElementsOf(i);
  if (length == 0) return absl::OkStatus();
  for (uint64_t row = 0; row < SramRowsOf(i); ++row) {
    const uint64_t element = i.sram_base + row * length;
    if (element + length > depth) {
      return Trap(i, number,
                  StrCat("row ", row, " writes elements ", element, " to ", element + length - 1, " of ",
                         NameOf(i.memory), ", which has ", depth));
    }
    const bool padding = row < i.y_pad_before || row >= uint64_t{i.y_pad_before} + i.y_size;
    if (padding || i.x_size == 0) {
      Pad(i.memory, element, length, i.pad_value);
      continue;
    }
    const uint64_t address = (i.dram_base + (row - i.y_pad_before) * i.x_stride) * bytes;
    if (!machine_.dram_->Holds(address, i.x_size * bytes)) {
      return Trap(i, number,
                  StrCat("row ", row, " reads ", i.x_size * bytes, " bytes at address ", address,
                         " of DRAM, which has ", machine_.dram_->size()));
    }
    Pad(i.memory, element, i.x_pad_before, i.pad_value);
    Copy(i.memory, element + i.x_pad_before, i.x_size, machine_.dram_->data() + address);
    Pad(i.memory, element + i.x_pad_before + i.x_size, i.x_pad_after, i.pad_value);
  }
  return absl::OkStatus();
}

absl::Status Executor::Store(const Instruction& i, int64_t number) {
  const auto depth = static_cast<uint64_t>(machine_.config_.DepthOf(i.memory));
  const auto bytes = static_cast<uint64_t>(machine_.config_.DramElementBytes(i.memory));
  const auto lanes = static_cast<uint64_t>(machine_.acc_lanes_);
  if (i.x_size == 0) return absl::OkStatus();
  for (uint64_t row = 0; row < i.y_size; ++row) {
    const uint64_t element = i.sram_base + row * i.x_size;
    const uint64_t address = (uint64_t{i.dram_base} + row * i.x_stride) * bytes;
    if (element + i.x_size > depth) {
      return Trap(i, number,
                  StrCat("row ", row, " reads elements ", element, " to ", element + i.x_size - 1, " of ",
                         NameOf(i.memory), ", which has ", depth));
    }
    if (!machine_.dram_->Holds(address, i.x_size * bytes)) {
      return Trap(i, number,
                  StrCat("row ", row, " writes ", i.x_size * bytes, " bytes at address ", address,
                         " of DRAM, which has ", machine_.dram_->size()));
    }
    const int32_t* from = machine_.acc_.data() + element * lanes;
    uint8_t* to = machine_.dram_->data() + address;
    for (uint64_t lane = 0; lane < i.x_size * lanes; ++lane) {
      if (i.memory == Memory::kAcc8) {
        to[lane] = static_cast<uint8_t>(vdla::isa::SaturateToInt8(from[lane]));
      } else {
        for (int b = 0; b < 4; ++b)
          to[4 * lane + static_cast<uint64_t>(b)] = static_cast<uint8_t>(static_cast<uint32_t>(from[lane]) >> (8 * b));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::Nest(const Instruction& i, int64_t number, absl::FunctionRef<bool()> stop) {
  if (MicroOpsOf(i) == 0) return absl::OkStatus();
  const bool gemm = i.opcode == Opcode::kGemm;
  const auto depth = [&](Memory memory) { return static_cast<uint64_t>(machine_.config_.DepthOf(memory)); };
  const Index dst{"dst", Memory::kAcc, &MicroOp::dst, i.dst_out, i.dst_in, depth(Memory::kAcc)};
  const Index src{"src",    gemm ? Memory::kInp : Memory::kAcc,       &MicroOp::src, i.src_out,
                  i.src_in, depth(gemm ? Memory::kInp : Memory::kAcc)};
  const Index wgt{"wgt", Memory::kWgt, &MicroOp::wgt, i.wgt_out, i.wgt_in, depth(Memory::kWgt)};
  std::vector<const Index*> used = {&dst};
  const bool reads_src = gemm ? i.mode != vdla::isa::GemmMode::kReset : !i.use_imm;
  if (reads_src) used.push_back(&src);
  if (gemm && reads_src) used.push_back(&wgt);

  const absl::Span<const MicroOp> micro_ops = MicroOps(i);
  // Where the largest indices are inside, all are, and no micro-op need be asked.
  bool inside = micro_ops.size() == i.uop_count;
  for (const Index* index : used) {
    uint32_t largest = 0;
    for (const MicroOp& op : micro_ops) largest = std::max(largest, op.*index->base);
    inside =
        inside && largest + uint64_t{i.iter_out - 1} * index->out + uint64_t{i.iter_in - 1} * index->in < index->depth;
  }
  const int64_t acc_lanes = machine_.acc_lanes_;
  int32_t* const acc = machine_.acc_.data();
  const auto tensor = gemm ? nullptr : kTensorLanes[static_cast<size_t>(i.op)];
  const auto immediate = gemm ? nullptr : kImmediateLanes[static_cast<size_t>(i.op)];
  // Products go through the kernel all at once; what may trap, or begins with zero, one by one.
  const bool at_once = inside && gemm && i.mode == vdla::isa::GemmMode::kAccumulate;
  steps_.clear();
  if (gemm && reads_src) {
    for (const MicroOp& op : micro_ops)
      steps_.push_back({op.dst * acc_lanes, op.src * machine_.inp_lanes_, op.wgt * machine_.wgt_lanes_});
  }
  const uint64_t between_stops =
      std::max<uint64_t>(1, kMacsBetweenStops / static_cast<uint64_t>(machine_.config_.MacsOfGemm()));
  uint64_t since_stop = 0;
  const auto poll = [&](uint64_t micro_ops_more) {
    if ((since_stop += micro_ops_more) < between_stops) return absl::OkStatus();
    since_stop = 0;
    return stop()
               ? absl::DeadlineExceededError(StrCat(Describe(i, number), ": the limit of time was reached within it"))
               : absl::OkStatus();
  };
  for (uint64_t o = 0; o < i.iter_out; ++o) {
    for (uint64_t n = 0; n < i.iter_in; ++n) {
      const int64_t acc_base = static_cast<int64_t>(o * i.dst_out + n * i.dst_in) * acc_lanes;
      const int64_t inp_base = static_cast<int64_t>(o * i.src_out + n * i.src_in) * machine_.inp_lanes_;
      const int64_t wgt_base = static_cast<int64_t>(o * i.wgt_out + n * i.wgt_in) * machine_.wgt_lanes_;
      for (uint64_t u = 0; at_once && u < i.uop_count; u += between_stops) {
        SMELT_RETURN_IF_ERROR(poll(std::min(between_stops, i.uop_count - u)));
        gemm_(acc + acc_base, machine_.inp_.data() + inp_base, machine_.wgt_.data() + wgt_base,
              absl::MakeSpan(steps_).subspan(u, between_stops), block_);
      }
      if (at_once) continue;
      for (uint64_t u = 0; u < i.uop_count; ++u) {
        SMELT_RETURN_IF_ERROR(poll(1));
        if (!inside) {
          if (u >= micro_ops.size())
            return Trap(i, number,
                        StrCat("micro-op ", i.uop_begin + u, " is outside UOP, which has ", machine_.uop_.size()));
          for (const Index* index : used) {
            if (const uint64_t at = index->At(micro_ops[u], o, n); at >= index->depth) {
              return Trap(i, number,
                          StrCat(index->name, " is ", at, " in iteration (", o, ", ", n, ") of micro-op ",
                                 i.uop_begin + u, ", outside ", NameOf(index->memory), ", which has ", index->depth));
            }
          }
        }
        int32_t* const to = acc + static_cast<int64_t>(dst.At(micro_ops[u], o, n)) * acc_lanes;
        if (gemm) {
          if (i.mode != vdla::isa::GemmMode::kAccumulate) std::fill(to, to + acc_lanes, 0);
          if (reads_src) {
            gemm_(acc + acc_base, machine_.inp_.data() + inp_base, machine_.wgt_.data() + wgt_base,
                  absl::MakeSpan(steps_).subspan(u, 1), block_);
          }
        } else if (i.use_imm) {
          immediate(to, i.imm, acc_lanes);
        } else {
          tensor(to, acc + static_cast<int64_t>(src.At(micro_ops[u], o, n)) * acc_lanes, acc_lanes);
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace smelt::sim

// Which elements of which memory, and which bytes of DRAM, an instruction reads and writes: what the planner of tokens
// orders and the race detector checks.
//
//   Accesses accesses = AccessesOf(instruction, micro_ops, config);
//   bool ordered_needed = Conflict(accesses, other);
//
// Sets are lists of strided runs, so that a load is one run in SRAM and one in DRAM however large it is. Values only.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// The spaces that a byte or element may lie in: the four memories on the chip (acc8 is acc), and DRAM.
enum class Space : uint8_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kDram = 4 };
inline constexpr int kSpaces = 5;
Space SpaceOf(Memory memory);
std::string_view NameOf(Space space);

// `count` ranges [begin + i * stride, begin + i * stride + length): elements of a memory, bytes of DRAM. Never empty.
// stride >= length where count > 1.
struct Run {
  uint64_t begin = 0;
  uint64_t length = 1;
  uint64_t stride = 0;
  uint64_t count = 1;
  bool operator==(const Run&) const = default;
  uint64_t end() const { return begin + (count - 1) * stride + length; }  // of the last range
};
// Whether they have an element in common.
bool Overlap(const Run& a, const Run& b);

struct Access {
  Space space = Space::kUop;
  bool write = false;
  Run run;
  bool operator==(const Access&) const = default;
};
// They stand in order of space, reads before writes, begin. The runs of one space and direction do not overlap.
using Accesses = std::vector<Access>;

// `micro_ops` holds the instruction's own, from uop_begin on, uop_count of them (a GEMM or an ALU; else unused). Where
// fewer are given, all elements of the memories count. A GEMM or an ALU reads its micro-ops; an accumulating GEMM and
// an ALU read what they write. Indices outside a memory are cut off: the unit traps them.
Accesses AccessesOf(const Instruction& instruction, absl::Span<const MicroOp> micro_ops, const Config& config);

// Whether both touch an element or byte in common and one of them writes it.
bool Conflict(const Accesses& a, const Accesses& b);

}  // namespace smelt::vdla::isa

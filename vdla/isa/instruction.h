// The instructions of VDLA as values: what a compiler writes, the simulators run and the driver puts into memory. Their
// bits are in encoding.h, their text in assembly.h, their meaning in docs/vdla.md.
//
//   Instruction load{.opcode = Opcode::kLoad, .push_next = true, .memory = Memory::kInp, .sram_base = 0, .dram_base =
//   64,
//                    .y_size = 14, .x_size = 14, .x_stride = 14, .y_pad_before = 1, .x_pad_before = 1};
//   Unit unit = UnitOf(load);  // Unit::kLoad: inputs are loaded beside the computation
//
// A field that an opcode does not have keeps its default, so that equal instructions compare equal. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::vdla::isa {

inline constexpr int kVersion = 1;  // of the instruction set
inline constexpr int kInstructionBytes = 16;
inline constexpr int kMicroOpBytes = 4;

enum class Opcode : uint8_t {
  kLoad = 0,    // DRAM to SRAM, two-dimensional, with padding
  kStore = 1,   // accumulators to DRAM
  kGemm = 2,    // products of blocks, summed into accumulators
  kFinish = 3,  // the last instruction, exactly one
  kAlu = 4,     // elementwise on accumulators
};
inline constexpr int kOpcodes = 5;

// A memory of the chip, or the form that accumulators have in DRAM.
enum class Memory : uint8_t {
  kUop = 0,   // micro-ops
  kWgt = 1,   // weights: block_out * block_in int8 an element
  kInp = 2,   // inputs: batch * block_in int8
  kAcc = 3,   // accumulators: batch * block_out int32
  kAcc8 = 4,  // accumulators, int8 in DRAM: a load extends the sign, a store saturates
};
inline constexpr int kMemories = 5;

enum class GemmMode : uint8_t {
  kAccumulate = 0,  // acc += inp * wgt^T
  kReset = 1,       // acc = 0; reads nothing
  kOverwrite = 2,   // acc = inp * wgt^T
};
inline constexpr int kGemmModes = 3;

// acc = op(x, y): x the accumulator's lane, y the immediate or another accumulator's lane. alu.h has each as a
// function.
enum class AluOp : uint8_t {
  kMin = 0,
  kMax = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kShr = 5,       // right, rounding down; left for a negative amount
  kRshr = 6,      // right, rounding half up; left for an amount that is not positive
  kShl = 7,       // left; right for a negative amount
  kClip = 8,      // into [-y-1, y]
  kMulShift = 9,  // times y >> 8, shifted right by y & 255, rounding half up, saturating: requantisation
  kMov = 10,      // y
};
inline constexpr int kAluOps = 11;

struct Instruction {
  Opcode opcode = Opcode::kFinish;
  // Tokens: pops before the work, pushes after it. `prev` and `next` are the units before and after in load, compute,
  // store.
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;

  // LOAD, STORE.
  Memory memory = Memory::kUop;
  uint32_t sram_base = 0;  // elements
  uint32_t dram_base = 0;  // elements of the memory's form in DRAM: byte address / bytes of such an element
  uint32_t y_size = 0;     // rows
  uint32_t x_size = 0;     // elements of a row in DRAM
  uint32_t x_stride = 0;   // elements in DRAM from row start to row start
  uint32_t y_pad_before = 0, y_pad_after = 0, x_pad_before = 0, x_pad_after = 0;  // rows, elements of a row
  int32_t pad_value = 0;                                                          // int8, in every lane of padding

  // GEMM, ALU: for o < iter_out, for i < iter_in, for u in [uop_begin, uop_begin + uop_count): indices are the
  // micro-op's plus o * ..._out plus i * ..._in.
  GemmMode mode = GemmMode::kAccumulate;  // GEMM
  bool use_imm = false;                   // ALU: y is imm, src is ignored
  AluOp op = AluOp::kMin;                 // ALU
  uint32_t uop_begin = 0, uop_count = 0;
  uint32_t iter_out = 0, iter_in = 0;
  uint32_t dst_out = 0, dst_in = 0;
  uint32_t src_out = 0, src_in = 0;
  uint32_t wgt_out = 0, wgt_in = 0;  // GEMM
  int32_t imm = 0;                   // ALU: int16

  bool operator==(const Instruction&) const = default;
};

// Indices into the accumulators (dst), the inputs of a GEMM or the accumulators of an ALU (src), the weights.
struct MicroOp {
  uint32_t dst = 0;  // 12 bits
  uint32_t src = 0;  // 12 bits
  uint32_t wgt = 0;  // 8 bits; an ALU ignores it
  bool operator==(const MicroOp&) const = default;
};

// The three units, each with an in-order queue of instructions.
enum class Unit : uint8_t { kLoad = 0, kCompute = 1, kStore = 2 };
inline constexpr int kUnits = 3;
inline constexpr std::array<Unit, kUnits> kAllUnits = {Unit::kLoad, Unit::kCompute, Unit::kStore};

// The four queues of tokens between neighbours.
enum class TokenQueue : uint8_t { kLoadToCompute = 0, kComputeToLoad = 1, kComputeToStore = 2, kStoreToCompute = 3 };
inline constexpr int kTokenQueues = 4;

// The queue that runs it. Any values of its fields have one.
Unit UnitOf(const Instruction& instruction);

// The queue that a flag of `unit` pops or pushes; false where the unit has no such neighbour.
bool QueueOfPop(Unit unit, bool next, TokenQueue* queue);
bool QueueOfPush(Unit unit, bool next, TokenQueue* queue);
Unit PusherOf(TokenQueue queue);
Unit PopperOf(TokenQueue queue);

// Names as in the assembler: "LOAD", "WGT", "RSHR", "overwrite"; units and queues as in messages: "load",
// "load->compute". A value outside its enumeration is "?".
std::string_view NameOf(Opcode opcode);
std::string_view NameOf(Memory memory);
std::string_view NameOf(GemmMode mode);
std::string_view NameOf(AluOp op);
std::string_view NameOf(Unit unit);
std::string_view NameOf(TokenQueue queue);

// Micro-ops that a GEMM or ALU executes: iter_out * iter_in * uop_count.
inline uint64_t MicroOpsOf(const Instruction& instruction) {
  return uint64_t{instruction.iter_out} * instruction.iter_in * instruction.uop_count;
}
// Rows and elements of a row that a LOAD writes or a STORE reads in SRAM, padding counted.
inline uint64_t SramRowsOf(const Instruction& i) { return uint64_t{i.y_pad_before} + i.y_size + i.y_pad_after; }
inline uint64_t SramRowElementsOf(const Instruction& i) { return uint64_t{i.x_pad_before} + i.x_size + i.x_pad_after; }

}  // namespace smelt::vdla::isa

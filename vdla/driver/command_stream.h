// A program that is made by calls: instructions in order, tokens as flags on them or on no-ops, micro-ops loaded where
// they are not on the chip.
//
//   CommandStream commands(isa::Config::Named("pynq").value());
//   absl::Status recorded = commands.Move({.opcode = isa::Opcode::kLoad, .memory = isa::Memory::kInp, .y_size = 1,
//                                          .x_size = 16, .x_stride = 16});
//   recorded = commands.Push(isa::Unit::kLoad, isa::Unit::kCompute);   // a flag on that load
//   recorded = commands.Pop(isa::Unit::kLoad, isa::Unit::kCompute);    // a flag on what compute does next
//   std::vector<isa::Instruction> program = commands.Finish().value();
//
// A call that fails names the number that its instruction would have had, and leaves everything as it was. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vdla/driver/micro_op_cache.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::driver {

// Micro-ops that lie in DRAM, ready to be loaded.
struct MicroOpKernel {
  uint64_t number = 0;        // no other kernel of the device has it
  uint64_t dram_address = 0;  // bytes, a multiple of 4
  uint32_t count = 0;
  isa::MicroOp largest;  // the largest index of each kind
};

// Which tokens an instruction waits for and gives.
struct Tokens {
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;
};

// The nest around a kernel: indices grow by these elements with each iteration.
struct Loops {
  uint32_t iter_out = 1, iter_in = 1;
  uint32_t dst_out = 0, dst_in = 0, src_out = 0, src_in = 0;
  uint32_t wgt_out = 0, wgt_in = 0;  // GEMM
};

class CommandStream {
 public:
  explicit CommandStream(const isa::Config& machine);

  // A LOAD or a STORE as it is, tokens and address included. InvalidArgument: illegal, or outside of the chip's memory.
  absl::Status Move(const isa::Instruction& instruction);
  // A GEMM or an ALU over the kernel's micro-ops, which are loaded before it where they are not on the chip.
  // InvalidArgument: illegal, or an index that an iteration reaches lies outside of its memory.
  absl::Status Gemm(const MicroOpKernel& kernel, isa::GemmMode mode, const Loops& loops, const Tokens& tokens);
  absl::Status Alu(const MicroOpKernel& kernel, isa::AluOp op, const Loops& loops, const Tokens& tokens);
  // The same with y = immediate (int16).
  absl::Status AluImmediate(const MicroOpKernel& kernel, isa::AluOp op, int32_t immediate, const Loops& loops,
                            const Tokens& tokens);

  // What `from` did until now comes before what `to` does after the matching Pop. A token becomes a flag of the last
  // instruction of `from`, or of a no-op where there is none that is free. InvalidArgument: no neighbours.
  absl::Status Push(isa::Unit from, isa::Unit to);
  // A token becomes a flag of the next instruction of `to`, or of a no-op where that one has the flag already.
  absl::Status Pop(isa::Unit from, isa::Unit to);
  // Everything recorded until now ends before anything recorded later begins. Tokens that are on their way stay so.
  void Barrier();

  // The program, ended by FINISH, which waits until the load and the store unit are idle. The stream is empty then, on
  // error too. Aborted: tokens do not add up (ReplayTokens).
  absl::StatusOr<std::vector<isa::Instruction>> Finish();
  void Clear();

  // Instructions until now: the number of the next one.
  uint64_t size() const { return instructions_.size(); }
  // Neither instructions nor pops that wait for one.
  bool IsEmpty() const;
  const std::vector<isa::Instruction>& instructions() const { return instructions_; }
  uint64_t evictions() const { return cache_.evictions(); }

 private:
  absl::Status Compute(const MicroOpKernel& kernel, isa::Instruction instruction, const Loops& loops,
                       const Tokens& tokens);
  absl::Status CheckIndices(const MicroOpKernel& kernel, const isa::Instruction& instruction, uint64_t number) const;
  absl::Status CheckNeighbours(isa::Unit from, isa::Unit to) const;
  // Pops that are pending for the unit become flags of it, and of no-ops before it.
  void Append(isa::Instruction instruction);
  void AppendNoOp(isa::Unit unit);
  bool HasPendingPop(isa::Unit unit) const;
  // No-ops that Append would put before the instruction.
  uint64_t NoOpsBefore(const isa::Instruction& instruction) const;

  const isa::Config machine_;
  MicroOpCache cache_;
  std::vector<isa::Instruction> instructions_;
  std::array<int64_t, isa::kUnits> last_of_;                   // number of each unit's last instruction, -1: none
  std::array<uint64_t, isa::kTokenQueues> pending_pops_ = {};  // that no instruction carries yet
  std::array<int64_t, isa::kTokenQueues> on_the_way_ = {};     // pushes less pops, in order of recording
};

}  // namespace smelt::vdla::driver

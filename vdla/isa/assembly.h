// Programs as text, for people and tests. Every program that CheckProgram accepts is written and read back equal.
//
//   const char* text =
//       ".vdla 1\n"
//       ".program zeros\n"
//       ".machine pynq\n"
//       ".segment constant uops address=0 size=4\n"
//       ".uop dst=0 src=0 wgt=0\n"
//       ".segment output y address=4096 size=64\n"
//       "LOAD UOP y_size=1 x_size=1 x_stride=1\n"
//       "GEMM reset push_next uop_count=1 iter_out=1 iter_in=1   ; a comment\n"
//       "STORE ACC pop_prev push_prev dram_base=64 y_size=1 x_size=1 x_stride=1\n"
//       "FINISH pop_next\n";
//   Program program = Assemble(text, "zeros.vs").value();
//   std::string same = Disassemble(program);
//
// A line is a directive or an instruction. An instruction is its opcode, the names of its memory, mode or operation,
// its flags, and its other fields as name=number; fields that are not written are 0. `.machine` takes a name that is
// built in or a JSON object on one line. The data of a segment follow it: `.bytes` (hexadecimal), `.int8`, `.int32`
// (numbers),
// `.uop`, `.zero N`.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "vdla/isa/instruction.h"
#include "vdla/isa/program.h"

namespace smelt::vdla::isa {

// InvalidArgument: `ORIGIN:LINE: what`, or what CheckProgram refuses.
absl::StatusOr<Program> Assemble(std::string_view text, std::string_view origin);
std::string Disassemble(const Program& program);

// One instruction, without a line's end. InvalidArgument says what is wrong.
absl::StatusOr<Instruction> AssembleInstruction(std::string_view line);
std::string DisassembleInstruction(const Instruction& instruction);

}  // namespace smelt::vdla::isa

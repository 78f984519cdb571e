// A program of VDLA: instructions, and what lies in DRAM when it starts. This is what a compiler hands to the
// simulators, the driver and the hardware's test bench; program_file.h keeps it in a file, assembly.h writes it as
// text.
//
//   Program program{.name = "add", .config = Config::Named("pynq").value()};
//   program.segments.push_back({.name = "x", .role = Role::kInput, .address = 4096, .size = 1024});
//   program.instructions.push_back({.opcode = Opcode::kFinish});
//   absl::Status legal = CheckProgram(program);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// What a range of DRAM is for.
enum class Role : uint8_t {
  kConstant = 0,  // weights, biases, micro-ops: the program brings the bytes
  kInput = 1,     // the caller writes it before a run
  kOutput = 2,    // the caller reads it after a run
  kScratch = 3,   // between instructions; starts as zeros
  kResult = 4,    // kept for checks: its bytes are what a run must leave here, and DRAM starts with zeros
};
inline constexpr int kRoles = 5;
std::string_view NameOf(Role role);

struct Segment {
  std::string name;  // letters, digits, `_`, `.` and `-`
  Role role = Role::kConstant;
  uint64_t address = 0;  // bytes
  uint64_t size = 0;     // bytes
  // The first bytes of it; the rest is zero. At most `size`. Of kResult: what is expected.
  std::string bytes;
  bool operator==(const Segment&) const = default;
};

struct Program {
  std::string name;
  Config config;  // the machine that it was made for, whole
  std::vector<Instruction> instructions;
  // No two overlap, but that a result may lie in an output or scratch segment.
  std::vector<Segment> segments;
  bool operator==(const Program&) const = default;

  // The segment of that name; null: none.
  const Segment* Find(std::string_view name) const;
};

// CheckInstructions; segments with distinct names, inside DRAM, not overlapping, no more bytes than their sizes.
// InvalidArgument names the instruction or the segment. Indices are not checked: units trap them.
absl::Status CheckProgram(const Program& program);

}  // namespace smelt::vdla::isa

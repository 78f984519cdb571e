// A program that a compiler made, in a device's memory: moved to where there was room, its constants written.
//
//   std::shared_ptr<const LoadedProgram> program = LoadProgram(*device, compiled).value();
//   absl::Status written = device->Write(program->Find("x")->buffer, 0, bytes);
//   absl::Status submitted = stream.Submit(program);   // as often as wanted
//
// A compiler numbers DRAM as if the program were alone. Its segments move together by a multiple of every element's
// bytes, so that each address in an instruction is still an element's number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/driver/device.h"
#include "vdla/isa/program.h"

namespace smelt::vdla::driver {

struct LoadedSegment {
  std::string name;
  isa::Role role = isa::Role::kConstant;
  Buffer buffer;
};

// Never changes; any number of streams may submit it, one after the other: they share its segments.
struct LoadedProgram {
  std::string name;
  Buffer instructions;  // encoded
  uint64_t count = 0;
  uint64_t multiplications = 0;  // of its GEMMs, resets aside
  std::vector<LoadedSegment> segments;
  std::vector<Buffer> zeros;  // scratch, which each run must find zero
  // Null: no segment has that name.
  const LoadedSegment* Find(std::string_view segment) const;
  const Device* device() const { return instructions.device(); }
};

// InvalidArgument: not legal (isa::CheckProgram), or an instruction that reads or writes outside of its segments.
// FailedPrecondition: made for another machine. Aborted: its tokens do not add up. ResourceExhausted: no room.
absl::StatusOr<std::shared_ptr<const LoadedProgram>> LoadProgram(Device& device, const isa::Program& program);

// Multiplications of all GEMMs but resets.
uint64_t MultiplicationsOf(absl::Span<const isa::Instruction> instructions, const isa::Config& machine);
// Bytes of DRAM from the first to behind the last that a LOAD or STORE touches; empty where it moves nothing.
struct DramExtent {
  uint64_t begin = 0, end = 0;
};
DramExtent DramExtentOf(const isa::Instruction& instruction, const isa::Config& machine);

// Encodes, allocates and writes.
absl::StatusOr<Buffer> WriteInstructions(Device& device, absl::Span<const isa::Instruction> instructions);

}  // namespace smelt::vdla::driver

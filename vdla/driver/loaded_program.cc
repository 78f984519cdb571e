#include "vdla/driver/loaded_program.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/token_replay.h"

namespace smelt::vdla::driver {
namespace {

using isa::Instruction;

absl::Span<const uint8_t> BytesOf(std::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

bool MovesDram(const Instruction& i) {
  return (i.opcode == isa::Opcode::kLoad || i.opcode == isa::Opcode::kStore) && i.y_size > 0 && i.x_size > 0;
}

// The first reason why a program for `made_for` cannot run on `machine`. Timing and names may differ, and what the
// machine has more of does no harm.
absl::Status CheckMachine(const isa::Program& program, const isa::Config& machine) {
  const isa::Config& made_for = program.config;
  const struct {
    std::string_view what;
    int64_t needed, there;
    bool equal;
  } figures[] = {{"rows of an input", made_for.batch, machine.batch, true},
                 {"lanes of an input", made_for.block_in, machine.block_in, true},
                 {"lanes of an accumulator", made_for.block_out, machine.block_out, true},
                 {"bytes of input memory", made_for.inp_bytes, machine.inp_bytes, false},
                 {"bytes of weight memory", made_for.wgt_bytes, machine.wgt_bytes, false},
                 {"bytes of accumulators", made_for.acc_bytes, machine.acc_bytes, false},
                 {"bytes of micro-op memory", made_for.uop_bytes, machine.uop_bytes, false}};
  for (const auto& [what, needed, there, equal] : figures) {
    if (equal ? needed == there : needed <= there) continue;
    return absl::FailedPreconditionError(StrCat("program `", program.name, "` was made for machine `", made_for.name,
                                                "`, with ", needed, " ", what, "; this device is `", machine.name,
                                                "`, with ", there,
                                                ": compile it again for this machine, or open the "
                                                "device as that one"));
  }
  return absl::OkStatus();
}

}  // namespace

const LoadedSegment* LoadedProgram::Find(std::string_view segment) const {
  for (const LoadedSegment& candidate : segments) {
    if (candidate.name == segment) return &candidate;
  }
  return nullptr;
}

uint64_t MultiplicationsOf(absl::Span<const Instruction> instructions, const isa::Config& machine) {
  uint64_t micro_ops = 0;
  for (const Instruction& instruction : instructions) {
    if (instruction.opcode == isa::Opcode::kGemm && instruction.mode != isa::GemmMode::kReset)
      micro_ops += isa::MicroOpsOf(instruction);
  }
  return micro_ops * static_cast<uint64_t>(machine.MacsOfGemm());
}

DramExtent DramExtentOf(const Instruction& instruction, const isa::Config& machine) {
  if (!MovesDram(instruction)) return {};
  const auto element = static_cast<uint64_t>(machine.DramElementBytes(instruction.memory));
  const uint64_t elements = uint64_t{instruction.y_size - 1} * instruction.x_stride + instruction.x_size;
  const uint64_t begin = uint64_t{instruction.dram_base} * element;
  return {.begin = begin, .end = begin + elements * element};
}

absl::StatusOr<Buffer> WriteInstructions(Device& device, absl::Span<const Instruction> instructions) {
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, isa::EncodeAll(instructions));
  SMELT_ASSIGN_OR_RETURN(Buffer buffer, device.Allocate(bytes.size()));
  SMELT_RETURN_IF_ERROR(device.Write(buffer, 0, BytesOf(bytes)));
  return buffer;
}

absl::StatusOr<std::shared_ptr<const LoadedProgram>> LoadProgram(Device& device, const isa::Program& program) {
  SMELT_RETURN_IF_ERROR(isa::CheckProgram(program));
  const isa::Config& machine = device.machine();
  SMELT_RETURN_IF_ERROR(CheckMachine(program, machine));
  SMELT_RETURN_IF_ERROR(isa::ReplayTokens(program.instructions, machine));

  uint64_t begin = std::numeric_limits<uint64_t>::max(), end = 0;
  for (const isa::Segment& segment : program.segments) {
    if (segment.size == 0) continue;
    begin = std::min(begin, segment.address);
    end = std::max(end, segment.address + segment.size);
  }
  if (end == 0) begin = 0;
  begin -= begin % device.element_alignment();

  auto loaded = std::make_shared<LoadedProgram>();
  loaded->name = program.name;
  // One byte where there are none, so that every segment is in some memory.
  SMELT_ASSIGN_OR_RETURN(const Buffer image, device.Allocate(std::max<uint64_t>(end - begin, 1)));
  std::vector<Instruction> instructions = program.instructions;
  for (size_t number = 0; number < instructions.size(); ++number) {
    Instruction& instruction = instructions[number];
    const DramExtent extent = DramExtentOf(instruction, machine);
    if (extent.end == 0) continue;
    if (extent.begin < begin || extent.end > end)
      return absl::InvalidArgumentError(StrCat("instruction ", number, " (", isa::NameOf(instruction.opcode), ") of `",
                                               program.name, "`: bytes ", extent.begin, " to ", extent.end,
                                               " of DRAM lie outside of its segments, which end at ", end));
    const auto element = static_cast<uint64_t>(machine.DramElementBytes(instruction.memory));
    const uint64_t base = (extent.begin - begin + image.address) / element;
    if (base > std::numeric_limits<uint32_t>::max())
      return absl::ResourceExhaustedError(StrCat("instruction ", number, " of `", program.name,
                                                 "`: its segments lie at "
                                                 "DRAM address ",
                                                 image.address,
                                                 ", behind what 32 bits can name: load "
                                                 "programs before large buffers are allocated"));
    instruction.dram_base = static_cast<uint32_t>(base);
  }
  for (const isa::Segment& segment : program.segments) {
    Buffer buffer{.memory = image.memory, .address = image.address + (segment.address - begin), .size = segment.size};
    if (segment.size > 0 && segment.role != isa::Role::kResult) {
      SMELT_RETURN_IF_ERROR(device.Write(buffer, 0, BytesOf(segment.bytes)));
      Buffer rest = buffer;
      rest.address += segment.bytes.size();
      rest.size -= segment.bytes.size();
      SMELT_RETURN_IF_ERROR(device.WriteZeros(rest));
      if (segment.role == isa::Role::kScratch && segment.bytes.empty()) loaded->zeros.push_back(buffer);
    }
    loaded->segments.push_back({.name = segment.name, .role = segment.role, .buffer = std::move(buffer)});
  }
  SMELT_ASSIGN_OR_RETURN(loaded->instructions, WriteInstructions(device, instructions));
  loaded->count = instructions.size();
  loaded->multiplications = MultiplicationsOf(instructions, machine);
  return loaded;
}

}  // namespace smelt::vdla::driver

#include "vdla/lower/tokens.h"

#include <algorithm>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/accesses.h"
#include "vdla/lower/dependences.h"
#include "vdla/lower/token_check.h"

namespace smelt::vdla::lower {
namespace {

using isa::Accesses;
using isa::Config;
using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;

// What the instructions touch, and the steps that borrow it.
struct Sequence {
  std::vector<Accesses> accesses;
  std::vector<Step> steps;
};

Sequence SequenceOf(absl::Span<const Instruction> instructions, const MicroOpImage& image, const Config& config) {
  Sequence sequence;
  sequence.accesses.reserve(instructions.size());
  std::vector<MicroOp> sram(static_cast<size_t>(config.DepthOf(Memory::kUop)));
  for (const Instruction& instruction : instructions) {
    absl::Span<const MicroOp> micro_ops;
    if (instruction.opcode == Opcode::kGemm || instruction.opcode == Opcode::kAlu) {
      if (instruction.uop_begin + instruction.uop_count <= sram.size())
        micro_ops = absl::MakeConstSpan(sram).subspan(instruction.uop_begin, instruction.uop_count);
    } else if (instruction.opcode == Opcode::kLoad && instruction.memory == Memory::kUop) {
      for (uint64_t y = 0; y < instruction.y_size; ++y) {
        for (uint64_t x = 0; x < instruction.x_size; ++x) {
          const uint64_t from = uint64_t{instruction.dram_base} + y * instruction.x_stride + x - image.dram_base;
          const uint64_t to = instruction.sram_base + y * instruction.x_size + x;
          if (from < image.micro_ops.size() && to < sram.size()) sram[to] = image.micro_ops[from];
        }
      }
    }
    sequence.accesses.push_back(isa::AccessesOf(instruction, micro_ops, config));
    sequence.steps.push_back({.unit = isa::UnitOf(instruction),
                              .accesses = &sequence.accesses.back(),
                              .waits_for_all = instruction.opcode == Opcode::kFinish});
  }
  return sequence;
}

}  // namespace

absl::StatusOr<TokenProgram> InsertTokens(absl::Span<const Instruction> instructions, const MicroOpImage& image,
                                          const Config& config) {
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    if (instruction.pop_prev || instruction.pop_next || instruction.push_prev || instruction.push_next)
      return absl::InvalidArgumentError(StrCat("instruction ", i, " has tokens before they are planned"));
    if ((instruction.opcode == Opcode::kFinish) != (i + 1 == instructions.size()))
      return absl::InvalidArgumentError(StrCat("instruction ", i, ": a program ends with its one FINISH"));
  }
  const Sequence sequence = SequenceOf(instructions, image, config);
  std::vector<isa::Unit> units;
  for (const Step& step : sequence.steps) units.push_back(step.unit);
  SMELT_ASSIGN_OR_RETURN(const TokenPlan plan,
                         PlanTokens(units, FindDependences(sequence.steps), config.token_queue_depth));
  TokenProgram program{.instructions = {}, .tokens = plan.tokens, .no_ops = plan.no_ops};
  for (const PlannedStep& planned : plan.steps) {
    Instruction instruction =
        planned.step < 0 ? Instruction{.opcode = Opcode::kLoad, .memory = Memory::kAcc} : instructions[planned.step];
    instruction.pop_prev = planned.pop_prev;
    instruction.pop_next = planned.pop_next;
    instruction.push_prev = planned.push_prev;
    instruction.push_next = planned.push_next;
    program.instructions.push_back(instruction);
  }
  return program;
}

absl::Status CheckTokens(absl::Span<const Instruction> instructions, const MicroOpImage& image, const Config& config) {
  const Sequence sequence = SequenceOf(instructions, image, config);
  std::vector<PlannedStep> flags;
  for (const Instruction& instruction : instructions) {
    flags.push_back({.pop_prev = instruction.pop_prev,
                     .pop_next = instruction.pop_next,
                     .push_prev = instruction.push_prev,
                     .push_next = instruction.push_next});
  }
  return CheckTokens(sequence.steps, flags, config.token_queue_depth);
}

}  // namespace smelt::vdla::lower

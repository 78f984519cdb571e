// Random instructions that are legal.
#pragma once

#include <cstdint>
#include <random>

#include "vdla/isa/encoding.h"

namespace smelt::vdla::isa {

inline Instruction RandomInstruction(std::mt19937_64& random) {
  while (true) {
    Instruction instruction{.opcode = static_cast<Opcode>(random() % kOpcodes)};
    for (const Field& field : Fields()) {
      if (!field.IsOf(instruction.opcode) || field.kind == FieldKind::kOpcode) continue;
      const uint64_t span = static_cast<uint64_t>(field.most() - field.least()) + 1;
      const uint64_t pick = random() % 4;  // ends and small numbers as well as any
      field.set(instruction, pick == 0   ? field.least()
                             : pick == 1 ? field.most()
                                         : field.least() + static_cast<int64_t>(random() % span));
    }
    if (instruction.opcode == Opcode::kStore || instruction.memory == Memory::kUop) {
      instruction.y_pad_before = instruction.y_pad_after = instruction.x_pad_before = instruction.x_pad_after = 0;
      instruction.pad_value = 0;
    }
    if (CheckInstruction(instruction, 0).ok()) return instruction;
  }
}

}  // namespace smelt::vdla::isa

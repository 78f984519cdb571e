// The bits of instructions and micro-ops: one table of fields from which the encoder, the decoder, the assembler and
// the document's tables are made. docs/vdla.md is the specification; a test compares it with this table.
//
//   EncodedInstruction bits = Encode(Instruction{.opcode = Opcode::kFinish}).value();   // 3, then fifteen zero bytes
//   Instruction back = Decode(bits, /*number=*/0).value();
//
// The encoding does not depend on a machine's configuration. Values only; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// 128 bits, little-endian: bit b of the specification is bit b % 8 of byte b / 8.
using EncodedInstruction = std::array<uint8_t, kInstructionBytes>;

// What a field's value means; the assembler writes a name, a flag or a number accordingly.
enum class FieldKind : uint8_t { kFlag, kUnsigned, kSigned, kOpcode, kMemory, kGemmMode, kAluOp };

struct Field {
  std::string_view name;  // as in the assembler and the specification; as the member of Instruction
  int low, high;          // bits, inclusive
  FieldKind kind;
  uint32_t opcodes;  // bit o is set where opcode o has the field
  std::string_view meaning;
  int64_t (*get)(const Instruction&);
  void (*set)(Instruction&, int64_t);

  constexpr int bits() const { return high - low + 1; }
  constexpr int64_t least() const { return kind == FieldKind::kSigned ? -(int64_t{1} << (bits() - 1)) : 0; }
  constexpr int64_t most() const { return (int64_t{1} << (kind == FieldKind::kSigned ? bits() - 1 : bits())) - 1; }
  constexpr bool IsOf(Opcode opcode) const { return (opcodes >> static_cast<int>(opcode) & 1) != 0; }
};
// All fields in order of opcode and bit. Those of one opcode do not overlap; what none covers is reserved.
absl::Span<const Field> Fields();

// Field `name` of `opcode`; null where it has none.
const Field* FieldOf(Opcode opcode, std::string_view name);
// A name of an opcode, memory, mode or operation, in any case, as its number.
std::optional<int64_t> ValueOfName(FieldKind kind, std::string_view name);
// The name of a value of such a field; empty where it is illegal or the field has none.
std::string_view NameOfValue(FieldKind kind, int64_t value);

// Whether an instruction is legal in itself, on any machine: values within their fields, fields of other opcodes at
// their defaults, tokens between neighbours only, a STORE from accumulators without padding, micro-ops without padding.
// InvalidArgument: `instruction NUMBER (LOAD): ...`.
absl::Status CheckInstruction(const Instruction& instruction, int64_t number);
// CheckInstruction of each, and exactly one FINISH, at the end.
absl::Status CheckInstructions(absl::Span<const Instruction> instructions);

// InvalidArgument: what CheckInstruction refuses; `number` names it.
absl::StatusOr<EncodedInstruction> Encode(const Instruction& instruction, int64_t number = 0);
// InvalidArgument: reserved bits that are not zero, illegal values, what CheckInstruction refuses.
absl::StatusOr<Instruction> Decode(const EncodedInstruction& bits, int64_t number);
// One after the other. InvalidArgument: as above, or bytes that are no whole number of instructions.
absl::StatusOr<std::string> EncodeAll(absl::Span<const Instruction> instructions);
absl::StatusOr<std::vector<Instruction>> DecodeAll(std::string_view bytes);

// dst in bits 11:0, src in 23:12, wgt in 31:24. All 2^32 values are micro-ops. Encoding takes the low bits of fields
// that are too large; FitsMicroOp tells of those.
constexpr bool FitsMicroOp(const MicroOp& op) { return op.dst < 4096 && op.src < 4096 && op.wgt < 256; }
constexpr uint32_t EncodeMicroOp(const MicroOp& op) {
  return (op.dst & 0xfff) | (op.src & 0xfff) << 12 | (op.wgt & 0xff) << 24;
}
constexpr MicroOp DecodeMicroOp(uint32_t bits) { return {bits & 0xfff, bits >> 12 & 0xfff, bits >> 24}; }

// The table of the specification in Markdown, one row a field, for docs/vdla.md.
std::string EncodingTable();

}  // namespace smelt::vdla::isa

#include "vdla/isa/encoding.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::vdla::isa {
namespace {

using Wide = unsigned __int128;

constexpr uint32_t Bit(Opcode opcode) { return 1u << static_cast<int>(opcode); }
constexpr uint32_t kAll = (1u << kOpcodes) - 1;
constexpr uint32_t kMoves = Bit(Opcode::kLoad) | Bit(Opcode::kStore);
constexpr uint32_t kGemms = Bit(Opcode::kGemm);
constexpr uint32_t kAlus = Bit(Opcode::kAlu);

template <auto kMember>
int64_t Get(const Instruction& instruction) {
  return static_cast<int64_t>(instruction.*kMember);
}
template <auto kMember>
void Set(Instruction& instruction, int64_t value) {
  using Value = std::remove_reference_t<decltype(instruction.*kMember)>;
  instruction.*kMember = static_cast<Value>(value);
}
template <auto kMember>
constexpr Field Make(std::string_view name, int high, int low, FieldKind kind, uint32_t opcodes,
                     std::string_view meaning) {
  return {name, low, high, kind, opcodes, meaning, Get<kMember>, Set<kMember>};
}

using I = Instruction;
using enum FieldKind;
constexpr Field kFields[] = {
    Make<&I::opcode>("opcode", 2, 0, kOpcode, kAll, "LOAD 0, STORE 1, GEMM 2, FINISH 3, ALU 4"),
    Make<&I::pop_prev>("pop_prev", 3, 3, kFlag, kAll, "waits for a token of the unit before"),
    Make<&I::pop_next>("pop_next", 4, 4, kFlag, kAll, "waits for a token of the unit after"),
    Make<&I::push_prev>("push_prev", 5, 5, kFlag, kAll, "gives a token to the unit before"),
    Make<&I::push_next>("push_next", 6, 6, kFlag, kAll, "gives a token to the unit after"),

    Make<&I::memory>("memory", 9, 7, kMemory, kMoves, "UOP 0, WGT 1, INP 2, ACC 3, ACC8 4"),
    Make<&I::sram_base>("sram_base", 23, 10, kUnsigned, kMoves, "first element in SRAM"),
    Make<&I::dram_base>("dram_base", 55, 24, kUnsigned, kMoves,
                        "first element in DRAM: byte address / bytes of an element there"),
    Make<&I::y_size>("y_size", 68, 56, kUnsigned, kMoves, "rows in DRAM"),
    Make<&I::x_size>("x_size", 81, 69, kUnsigned, kMoves, "elements of a row in DRAM"),
    Make<&I::x_stride>("x_stride", 101, 82, kUnsigned, kMoves, "elements in DRAM from row start to row start"),
    Make<&I::y_pad_before>("y_pad_before", 105, 102, kUnsigned, kMoves, "rows of padding before"),
    Make<&I::y_pad_after>("y_pad_after", 109, 106, kUnsigned, kMoves, "rows of padding after"),
    Make<&I::x_pad_before>("x_pad_before", 113, 110, kUnsigned, kMoves, "elements of padding before each row"),
    Make<&I::x_pad_after>("x_pad_after", 117, 114, kUnsigned, kMoves, "elements of padding after each row"),
    Make<&I::pad_value>("pad_value", 125, 118, kSigned, kMoves, "of every lane of padding"),

    Make<&I::mode>("mode", 8, 7, kGemmMode, kGemms, "accumulate 0, reset 1, overwrite 2"),
    Make<&I::uop_begin>("uop_begin", 22, 9, kUnsigned, kGemms, "first micro-op"),
    Make<&I::uop_count>("uop_count", 35, 23, kUnsigned, kGemms, "micro-ops of one iteration"),
    Make<&I::iter_out>("iter_out", 47, 36, kUnsigned, kGemms, "iterations of the outer loop"),
    Make<&I::iter_in>("iter_in", 59, 48, kUnsigned, kGemms, "iterations of the inner loop"),
    Make<&I::dst_out>("dst_out", 71, 60, kUnsigned, kGemms, "accumulators per outer iteration"),
    Make<&I::dst_in>("dst_in", 83, 72, kUnsigned, kGemms, "accumulators per inner iteration"),
    Make<&I::src_out>("src_out", 95, 84, kUnsigned, kGemms, "inputs per outer iteration"),
    Make<&I::src_in>("src_in", 107, 96, kUnsigned, kGemms, "inputs per inner iteration"),
    Make<&I::wgt_out>("wgt_out", 115, 108, kUnsigned, kGemms, "weights per outer iteration"),
    Make<&I::wgt_in>("wgt_in", 123, 116, kUnsigned, kGemms, "weights per inner iteration"),

    Make<&I::use_imm>("use_imm", 7, 7, kFlag, kAlus, "y is imm, and src is ignored"),
    Make<&I::op>("op", 11, 8, kAluOp, kAlus,
                 "MIN 0, MAX 1, ADD 2, SUB 3, MUL 4, SHR 5, RSHR 6, SHL 7, CLIP 8, MULSHIFT 9, MOV 10"),
    Make<&I::uop_begin>("uop_begin", 25, 12, kUnsigned, kAlus, "first micro-op"),
    Make<&I::uop_count>("uop_count", 38, 26, kUnsigned, kAlus, "micro-ops of one iteration"),
    Make<&I::iter_out>("iter_out", 50, 39, kUnsigned, kAlus, "iterations of the outer loop"),
    Make<&I::iter_in>("iter_in", 62, 51, kUnsigned, kAlus, "iterations of the inner loop"),
    Make<&I::dst_out>("dst_out", 74, 63, kUnsigned, kAlus, "accumulators per outer iteration, of x and the result"),
    Make<&I::dst_in>("dst_in", 86, 75, kUnsigned, kAlus, "accumulators per inner iteration, of x and the result"),
    Make<&I::src_out>("src_out", 98, 87, kUnsigned, kAlus, "accumulators per outer iteration, of y"),
    Make<&I::src_in>("src_in", 110, 99, kUnsigned, kAlus, "accumulators per inner iteration, of y"),
    Make<&I::imm>("imm", 126, 111, kSigned, kAlus, "y, with its sign extended"),
};

// Bits of the opcode that a field covers.
constexpr Wide MaskOf(Opcode opcode) {
  Wide mask = 0;
  for (const Field& field : kFields) {
    if (field.IsOf(opcode)) mask |= ((Wide{1} << field.bits()) - 1) << field.low;
  }
  return mask;
}
constexpr bool NoneOverlap() {
  for (int o = 0; o < kOpcodes; ++o) {
    Wide mask = 0;
    for (const Field& field : kFields) {
      if (!field.IsOf(static_cast<Opcode>(o))) continue;
      const Wide bits = ((Wide{1} << field.bits()) - 1) << field.low;
      if ((mask & bits) != 0) return false;
      mask |= bits;
    }
  }
  return true;
}
static_assert(NoneOverlap());

// How many values a field with names has.
struct Names {
  FieldKind kind;
  int count;
  std::string_view (*name)(int64_t);
};
template <typename Value>
std::string_view NameOfNumber(int64_t value) {
  return NameOf(static_cast<Value>(value));
}
constexpr Names kNames[] = {{kOpcode, kOpcodes, NameOfNumber<Opcode>},
                            {kMemory, kMemories, NameOfNumber<Memory>},
                            {kGemmMode, kGemmModes, NameOfNumber<GemmMode>},
                            {kAluOp, kAluOps, NameOfNumber<AluOp>}};

const Names* NamesOf(FieldKind kind) {
  for (const Names& names : kNames) {
    if (names.kind == kind) return &names;
  }
  return nullptr;
}

absl::Status Illegal(int64_t number, const Instruction& instruction, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("instruction ", number, " (", NameOf(instruction.opcode), "): ", what));
}

// What holds between fields; each alone is within its bits.
absl::Status CheckTogether(const Instruction& i, int64_t number) {
  const Unit unit = UnitOf(i);
  TokenQueue queue;
  const struct {
    bool set, pop, next;
  } flags[] = {
      {i.pop_prev, true, false}, {i.pop_next, true, true}, {i.push_prev, false, false}, {i.push_next, false, true}};
  for (const auto& flag : flags) {
    if (!flag.set || (flag.pop ? QueueOfPop(unit, flag.next, &queue) : QueueOfPush(unit, flag.next, &queue))) continue;
    return Illegal(number, i,
                   StrCat(flag.pop ? "pop_" : "push_", flag.next ? "next" : "prev", " is set, and the ", NameOf(unit),
                          " unit has no unit ", flag.next ? "after" : "before", " it"));
  }
  if (i.opcode == Opcode::kFinish && (i.push_prev || i.push_next))
    return Illegal(number, i, "pushes a token, and nothing runs after it");
  if ((kMoves >> static_cast<int>(i.opcode) & 1) == 0) return absl::OkStatus();
  const bool pads =
      i.y_pad_before != 0 || i.y_pad_after != 0 || i.x_pad_before != 0 || i.x_pad_after != 0 || i.pad_value != 0;
  if (i.opcode == Opcode::kStore && i.memory != Memory::kAcc && i.memory != Memory::kAcc8)
    return Illegal(number, i, StrCat("stores from ", NameOf(i.memory), "; only ACC and ACC8 can be stored"));
  if (i.opcode == Opcode::kStore && pads)
    return Illegal(number, i, "has padding, and a store has none: its pads and pad_value are 0");
  if (i.memory == Memory::kUop && pads) return Illegal(number, i, "pads micro-ops: their pads and pad_value are 0");
  return absl::OkStatus();
}

}  // namespace

absl::Span<const Field> Fields() { return kFields; }

const Field* FieldOf(Opcode opcode, std::string_view name) {
  for (const Field& field : kFields) {
    if (field.IsOf(opcode) && field.name == name) return &field;
  }
  return nullptr;
}

std::optional<int64_t> ValueOfName(FieldKind kind, std::string_view name) {
  const Names* names = NamesOf(kind);
  if (names == nullptr) return std::nullopt;
  const auto equal = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  for (int64_t value = 0; value < names->count; ++value) {
    const std::string_view has = names->name(value);
    if (std::equal(has.begin(), has.end(), name.begin(), name.end(), equal)) return value;
  }
  return std::nullopt;
}

std::string_view NameOfValue(FieldKind kind, int64_t value) {
  const Names* names = NamesOf(kind);
  return names == nullptr || value < 0 || value >= names->count ? std::string_view() : names->name(value);
}

absl::Status CheckInstruction(const Instruction& instruction, int64_t number) {
  if (static_cast<int>(instruction.opcode) >= kOpcodes)
    return Illegal(number, instruction, "has no opcode of this instruction set");
  Instruction rest = instruction;  // what is left once all fields of the opcode are at their defaults
  const Instruction defaults;
  for (const Field& field : kFields) {
    if (!field.IsOf(instruction.opcode)) continue;
    const int64_t value = field.get(instruction);
    if (value < field.least() || value > field.most()) {
      return Illegal(
          number, instruction,
          StrCat(field.name, " is ", value, "; it has ", field.bits(), " bits, ", field.least(), " to ", field.most()));
    }
    if (NamesOf(field.kind) != nullptr && NameOfValue(field.kind, value).empty())
      return Illegal(number, instruction, StrCat(field.name, " is ", value, ", which means nothing: ", field.meaning));
    field.set(rest, field.get(defaults));
  }
  if (rest != defaults) return Illegal(number, instruction, "sets a field that this opcode does not have");
  return CheckTogether(instruction, number);
}

absl::Status CheckInstructions(absl::Span<const Instruction> instructions) {
  for (size_t number = 0; number < instructions.size(); ++number) {
    SMELT_RETURN_IF_ERROR(CheckInstruction(instructions[number], static_cast<int64_t>(number)));
    const bool last = number + 1 == instructions.size(), finish = instructions[number].opcode == Opcode::kFinish;
    if (finish && !last)
      return Illegal(static_cast<int64_t>(number), instructions[number],
                     "stands before the end; instructions follow it");
    if (last && !finish)
      return Illegal(static_cast<int64_t>(number), instructions[number], "is the last one, and that must be FINISH");
  }
  if (instructions.empty()) return absl::InvalidArgumentError("no instructions: a program ends with FINISH");
  return absl::OkStatus();
}

absl::StatusOr<EncodedInstruction> Encode(const Instruction& instruction, int64_t number) {
  SMELT_RETURN_IF_ERROR(CheckInstruction(instruction, number));
  Wide bits = 0;
  for (const Field& field : kFields) {
    if (!field.IsOf(instruction.opcode)) continue;
    const Wide mask = (Wide{1} << field.bits()) - 1;
    bits |= (static_cast<Wide>(field.get(instruction)) & mask) << field.low;
  }
  EncodedInstruction bytes;
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(bits);
    bits >>= 8;
  }
  return bytes;
}

absl::StatusOr<Instruction> Decode(const EncodedInstruction& bytes, int64_t number) {
  Wide bits = 0;
  for (int b = kInstructionBytes - 1; b >= 0; --b) bits = bits << 8 | bytes[b];
  const int opcode = static_cast<int>(bits & 7);
  if (opcode >= kOpcodes)
    return absl::InvalidArgumentError(StrCat("instruction ", number, ": opcode ", opcode, " means nothing"));
  Instruction instruction{.opcode = static_cast<Opcode>(opcode)};
  if (const Wide reserved = bits & ~MaskOf(instruction.opcode); reserved != 0) {
    int bit = 0;
    while ((reserved >> bit & 1) == 0) ++bit;
    return Illegal(number, instruction, StrCat("bit ", bit, " is reserved and must be 0"));
  }
  for (const Field& field : kFields) {
    if (!field.IsOf(instruction.opcode)) continue;
    auto value = static_cast<int64_t>((bits >> field.low) & ((Wide{1} << field.bits()) - 1));
    if (field.kind == kSigned && value > field.most()) value -= int64_t{1} << field.bits();
    if (NamesOf(field.kind) != nullptr && NameOfValue(field.kind, value).empty())
      return Illegal(number, instruction, StrCat(field.name, " is ", value, ", which means nothing: ", field.meaning));
    field.set(instruction, value);
  }
  SMELT_RETURN_IF_ERROR(CheckTogether(instruction, number));
  return instruction;
}

absl::StatusOr<std::string> EncodeAll(absl::Span<const Instruction> instructions) {
  std::string bytes;
  bytes.reserve(instructions.size() * kInstructionBytes);
  for (size_t number = 0; number < instructions.size(); ++number) {
    SMELT_ASSIGN_OR_RETURN(const EncodedInstruction encoded,
                           Encode(instructions[number], static_cast<int64_t>(number)));
    bytes.append(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  }
  return bytes;
}

absl::StatusOr<std::vector<Instruction>> DecodeAll(std::string_view bytes) {
  if (bytes.size() % kInstructionBytes != 0) {
    return absl::InvalidArgumentError(
        StrCat("instructions end in the middle of one: ", bytes.size(), " bytes, and each has ", kInstructionBytes));
  }
  std::vector<Instruction> instructions;
  instructions.reserve(bytes.size() / kInstructionBytes);
  for (size_t at = 0; at < bytes.size(); at += kInstructionBytes) {
    EncodedInstruction encoded;
    std::memcpy(encoded.data(), bytes.data() + at, encoded.size());
    SMELT_ASSIGN_OR_RETURN(instructions.emplace_back(), Decode(encoded, static_cast<int64_t>(instructions.size())));
  }
  return instructions;
}

std::string EncodingTable() {
  std::string table = "| instruction | bits | field | means |\n|---|---|---|---|\n";
  for (const Field& field : kFields) {
    std::string who;
    for (int o = 0; o < kOpcodes; ++o) {
      if (field.IsOf(static_cast<Opcode>(o))) StrAppend(&who, who.empty() ? "" : ", ", NameOf(static_cast<Opcode>(o)));
    }
    if (field.opcodes == kAll) who = "all";
    const std::string bits = field.bits() == 1 ? StrCat(field.low) : StrCat(field.high, ":", field.low);
    StrAppend(&table, "| ", who, " | ", bits, " | `", field.name, "` | ", field.kind == kSigned ? "signed: " : "",
              field.meaning, " |\n");
  }
  return table;
}

}  // namespace smelt::vdla::isa

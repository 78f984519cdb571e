// The opcodes, and the one table that says what each is: name, arity, category and flags (see opcodes.def).
//
//   GetOpcodeInfo(Opcode::kAdd).name                       // "add"
//   IsElementwise(Opcode::kSelect)                         // true
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt::hlo {

enum class Opcode : uint8_t {
#define OPCODE(enumerator, text, arity, category, flags) enumerator,
#include "hlo/opcodes.def"
#undef OPCODE
};

inline constexpr int kOpcodeCount = 133;
inline constexpr int kVariadic = -1;

enum class OpcodeCategory : uint8_t {
  kElementwiseUnary,
  kElementwiseBinary,
  kElementwiseTernary,
  kShapeOnly,     // no arithmetic and no movement in row-major memory: reshape, bitcast, tuple, get-tuple-element
  kReduction,     // many elements to one: reduce, reduce-window, select-and-scatter, batch norm, scan
  kContraction,   // dot, convolution and kin
  kDataMovement,  // elements change place: transpose, slice, gather, ...
  kControlFlow,   // while, conditional, call
  kCollective,    // between devices
  kOther,
};

enum OpcodeFlags : uint8_t {
  kNoFlags = 0,
  kInjective = 1,
  kExpensive = 2,
  kSideEffect = 4,
  kCalls = 8,
  kCommutative = 16,
};

struct OpcodeInfo {
  std::string_view name;
  int arity;
  OpcodeCategory category;
  uint8_t flags;
};

const OpcodeInfo& GetOpcodeInfo(Opcode opcode);
std::optional<Opcode> OpcodeFromName(std::string_view name);

inline std::string_view OpcodeName(Opcode opcode) { return GetOpcodeInfo(opcode).name; }
inline bool IsElementwise(Opcode opcode) {
  return GetOpcodeInfo(opcode).category <= OpcodeCategory::kElementwiseTernary;
}
inline bool HasFlag(Opcode opcode, OpcodeFlags flag) { return (GetOpcodeInfo(opcode).flags & flag) != 0; }

}  // namespace smelt::hlo

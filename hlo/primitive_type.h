// Element types of arrays, and the kinds of things that are not arrays (tuples, tokens, opaque values, buffers).
//
//   PrimitiveTypeName(PrimitiveType::kBF16)  // "bf16"
//   StorageBytes(PrimitiveType::kS4)         // 1: a Literal keeps sub-byte elements one a byte
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt::hlo {

enum class PrimitiveType : uint8_t {
#define TYPE(enumerator, text, bits, kind, proto) enumerator,
#include "hlo/primitive_types.def"
#undef TYPE
};

enum class TypeKind : uint8_t { kPredKind, kSignedKind, kUnsignedKind, kFloatKind, kComplexKind, kOtherKind };

struct PrimitiveTypeInfo {
  std::string_view name;
  int bits;
  TypeKind kind;
  int proto_number;
};

const PrimitiveTypeInfo& TypeInfo(PrimitiveType type);
std::optional<PrimitiveType> PrimitiveTypeFromName(std::string_view name);

inline std::string_view PrimitiveTypeName(PrimitiveType type) { return TypeInfo(type).name; }
inline int BitWidth(PrimitiveType type) { return TypeInfo(type).bits; }
// Bytes of one element in a Literal and in run-time buffers: sub-byte types take a whole byte. 0 for tuples, tokens and
// opaque values.
inline int64_t StorageBytes(PrimitiveType type) { return (TypeInfo(type).bits + 7) / 8; }
inline bool IsFloat(PrimitiveType type) { return TypeInfo(type).kind == TypeKind::kFloatKind; }
inline bool IsComplex(PrimitiveType type) { return TypeInfo(type).kind == TypeKind::kComplexKind; }
inline bool IsSigned(PrimitiveType type) { return TypeInfo(type).kind == TypeKind::kSignedKind; }
inline bool IsUnsigned(PrimitiveType type) { return TypeInfo(type).kind == TypeKind::kUnsignedKind; }
inline bool IsInteger(PrimitiveType type) { return IsSigned(type) || IsUnsigned(type); }
inline bool IsArrayType(PrimitiveType type) { return TypeInfo(type).kind != TypeKind::kOtherKind; }
// f32 for c64, f64 for c128.
PrimitiveType ComplexPart(PrimitiveType type);
PrimitiveType ComplexOf(PrimitiveType part);

}  // namespace smelt::hlo

#include "hlo/primitive_type.h"

#include "absl/container/flat_hash_map.h"
#include "hlo/name_hash.h"

namespace smelt::hlo {
namespace {

using enum TypeKind;

constexpr PrimitiveTypeInfo kTypes[] = {
#define TYPE(enumerator, text, bits, kind, proto) {text, bits, kind, proto},
#include "hlo/primitive_types.def"
#undef TYPE
};

}  // namespace

const PrimitiveTypeInfo& TypeInfo(PrimitiveType type) { return kTypes[static_cast<int>(type)]; }

std::optional<PrimitiveType> PrimitiveTypeFromName(std::string_view name) {
  static const auto& names = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, PrimitiveType, NameHash>();
    for (int i = 0; i < static_cast<int>(std::size(kTypes)); ++i) {
      map->emplace(kTypes[i].name, static_cast<PrimitiveType>(i));
    }
    return map;
  }();
  auto it = names.find(name);
  if (it == names.end()) return std::nullopt;
  return it->second;
}

PrimitiveType ComplexPart(PrimitiveType type) {
  return type == PrimitiveType::kC128 ? PrimitiveType::kF64 : PrimitiveType::kF32;
}

PrimitiveType ComplexOf(PrimitiveType part) {
  return part == PrimitiveType::kF64 ? PrimitiveType::kC128 : PrimitiveType::kC64;
}

}  // namespace smelt::hlo

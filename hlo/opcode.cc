#include "hlo/opcode.h"

#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "hlo/name_hash.h"

namespace smelt::hlo {
namespace {

using enum OpcodeCategory;

constexpr OpcodeInfo kOpcodes[] = {
#define OPCODE(enumerator, text, arity, category, flags) {text, arity, category, static_cast<uint8_t>(flags)},
#include "hlo/opcodes.def"
#undef OPCODE
};
static_assert(std::size(kOpcodes) == kOpcodeCount);

}  // namespace

const OpcodeInfo& GetOpcodeInfo(Opcode opcode) { return kOpcodes[static_cast<int>(opcode)]; }

std::optional<Opcode> OpcodeFromName(std::string_view name) {
  static const auto& names = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, Opcode, NameHash>();
    for (int i = 0; i < kOpcodeCount; ++i) map->emplace(kOpcodes[i].name, static_cast<Opcode>(i));
    return map;
  }();
  auto it = names.find(name);
  if (it == names.end()) return std::nullopt;
  return it->second;
}

}  // namespace smelt::hlo

#include "hlo/raw_attribute.h"

#include <algorithm>
#include <iterator>

namespace smelt::hlo {

bool ChangesMeaning(const RawAttribute& attribute, Opcode opcode) {
  static constexpr std::string_view kNeutral[] = {
      "metadata", "origin", "statistics", "sharding", "frontend_attributes", "parameter_replication", kProtoFields};
  if (opcode == Opcode::kParameter && attribute.name == "frontend_attributes")
    return attribute.value.find(kKnownMark) != std::string::npos;
  // A custom call's configuration says what it computes; elsewhere it says how.
  if (attribute.name == "backend_config") return opcode == Opcode::kCustomCall;
  return std::find(std::begin(kNeutral), std::end(kNeutral), attribute.name) == std::end(kNeutral);
}

}  // namespace smelt::hlo

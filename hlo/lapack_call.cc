#include "hlo/lapack_call.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hlo/attributes.h"

namespace smelt::hlo {

int LapackCall::Option(absl::string_view name, int otherwise) const {
  for (const absl::string_view entry : absl::StrSplit(options, absl::ByAnyChar("{},"))) {
    const std::vector<absl::string_view> sides = absl::StrSplit(entry, '=');
    if (sides.size() != 2 || absl::StripAsciiWhitespace(sides[0]) != name) continue;
    const std::vector<absl::string_view> value = absl::StrSplit(sides[1], ':');
    const absl::string_view word = absl::StripAsciiWhitespace(value[0]);
    int number = 0;
    if (absl::SimpleAtoi(word, &number)) return number;
    if (word == "true" || word == "false") return word == "true" ? 1 : 0;
  }
  return otherwise;
}

std::optional<LapackCall> ReadLapackCall(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return std::nullopt;
  absl::string_view name = instruction.attributes<CustomCallAttributes>().target;
  if (!absl::ConsumePrefix(&name, "lapack_") || !absl::ConsumeSuffix(&name, "_ffi") || name.size() < 2)
    return std::nullopt;
  LapackCall call{.routine = std::string(name)};
  for (const RawAttribute& attribute : instruction.raw_attributes()) {
    if (attribute.name == "backend_config") call.options = attribute.value;
  }
  return call;
}

}  // namespace smelt::hlo

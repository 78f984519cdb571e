#include "hlo/aliasing.h"

#include "hlo/scanner/integer_list.h"

namespace smelt::hlo {

std::vector<OutputAlias> OutputAliases(const Module& module) {
  std::vector<OutputAlias> aliases;
  for (const RawAttribute& attribute : module.raw_attributes()) {
    if (attribute.name != "input_output_alias") continue;
    if (absl::StatusOr<std::vector<OutputAlias>> read = ReadAliases(attribute.value, /*has_outputs=*/true); read.ok())
      aliases = *std::move(read);
  }
  return aliases;
}

absl::StatusOr<std::vector<OutputAlias>> ReadAliases(std::string_view value, bool has_outputs) {
  std::vector<OutputAlias> aliases;
  text::Scanner scanner(value, "");
  if (!scanner.Expect('{') || scanner.Try('}')) return aliases;
  do {
    OutputAlias& alias = aliases.emplace_back();
    if (has_outputs && (!text::ReadIntegerList(scanner, &alias.output) || !scanner.Expect(':')))
      return absl::InvalidArgumentError("expects {index}: (parameter, {index})");
    if (!scanner.Expect('(') || !scanner.Integer(&alias.parameter) || !scanner.Expect(',') ||
        !text::ReadIntegerList(scanner, &alias.part)) {
      return absl::InvalidArgumentError("expects (parameter, {index})");
    }
    if (scanner.Try(',')) scanner.TryWord();
    if (!scanner.Expect(')')) return absl::InvalidArgumentError("expects `)`");
  } while (scanner.Try(','));
  return aliases;
}

}  // namespace smelt::hlo

#include "hlo/aliasing.h"

#include "hlo/scanner/integer_list.h"

namespace smelt::hlo {

std::vector<OutputAlias> OutputAliases(const Module& module) {
  std::vector<OutputAlias> aliases;
  for (const RawAttribute& attribute : module.raw_attributes()) {
    if (attribute.name != "input_output_alias") continue;
    text::Scanner scanner(attribute.value, "");
    if (!scanner.Expect('{') || scanner.Try('}')) continue;
    do {
      OutputAlias alias;
      if (!text::ReadIntegerList(scanner, &alias.output) || !scanner.Expect(':') || !scanner.Expect('(') ||
          !scanner.Integer(&alias.parameter) || !scanner.Expect(',') || !text::ReadIntegerList(scanner, &alias.part)) {
        break;
      }
      if (scanner.Try(',')) scanner.TryWord();
      if (!scanner.Expect(')')) break;
      aliases.push_back(std::move(alias));
    } while (scanner.Try(','));
  }
  return aliases;
}

}  // namespace smelt::hlo

// HLO text: what is read prints and reads back to the same text.
#include "base/check.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = hlo::ParseModule(text);
  if (!module.ok()) return 0;
  const std::string printed = hlo::ToText(**module);
  const auto again = hlo::ParseModule(printed);
  Check(again.ok(), "printed text does not read back");
  Check(hlo::ToText(**again) == printed, "printed text reads back to another");
  return 0;
}

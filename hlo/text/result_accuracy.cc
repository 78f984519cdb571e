// result_accuracy as XLA prints it, whatever way a text spells it: nothing for the default, names in lower case, all
// three tolerances, numbers in their shortest form.
#include <charconv>
#include <cmath>
#include <string>

#include "base/str_cat.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::text {
namespace {

void AppendNumber(std::string* out, double value) {
  char buffer[40];
  char* const end = buffer + sizeof(buffer);
  // Digits alone are an integer for XLA, of 64 bits at most.
  const auto result = std::abs(value) < 1e18 ? std::to_chars(buffer, end, value)
                                             : std::to_chars(buffer, end, value, std::chars_format::scientific);
  out->append(buffer, result.ptr - buffer);
}

}  // namespace

bool ReadResultAccuracy(Scanner& scanner, std::string* text) {
  if (!scanner.Expect('{')) return false;
  scanner.SkipSpace();
  const char* at = scanner.at();
  std::string_view kind;
  if (!scanner.AttributeName(&kind, "mode or tolerance")) return false;
  if (kind == "mode") {
    static constexpr std::string_view kModes[] = {"default", "highest"};
    int mode;
    if (!ReadEnumerator(scanner, kModes, /*any_case=*/true, &mode)) return false;
    *text = mode == 0 ? "" : StrCat("{mode=", kModes[mode], "}");
    return scanner.Expect('}');
  }
  if (kind != "tolerance") return scanner.FailAt(at, "mode or tolerance");
  double absolute = 0, relative = 0, ulps = 0;
  if (!scanner.Expect('{')) return false;
  if (!scanner.Try('}')) {
    do {
      scanner.SkipSpace();
      at = scanner.at();
      std::string_view name;
      if (!scanner.AttributeName(&name, "atol, rtol or ulps")) return false;
      double* const value = name == "atol" ? &absolute : name == "rtol" ? &relative : name == "ulps" ? &ulps : nullptr;
      if (value == nullptr) return scanner.FailAt(at, "atol, rtol or ulps");
      if (!scanner.Float(value)) return false;
      if (*value < 0) return scanner.FailAt(at, "a tolerance of 0 or more");
    } while (scanner.Try(','));
    if (!(ulps < 1e15)) return scanner.FailAt(at, "fewer than 1e15 ulps");
    if (!scanner.Expect('}')) return false;
  }
  *text = "{tolerance={atol=";
  AppendNumber(text, absolute);
  *text += ",rtol=";
  AppendNumber(text, relative);
  StrAppend(text, ",ulps=", static_cast<int64_t>(ulps), "}}");
  return scanner.Expect('}');
}

}  // namespace smelt::hlo::text

// result_accuracy as XLA prints it, whatever way a text spells it: nothing for the default, names in lower case, all
// three tolerances, numbers in their shortest form.
#include <charconv>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "hlo/str_cat.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::text {
namespace {

bool ReadNumber(Scanner& scanner, double* value) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  const char* end = start;
  while (end != scanner.end() && (absl::ascii_isalnum(*end) || *end == '.' || *end == '+' || *end == '-')) ++end;
  if (!absl::SimpleAtod(absl::string_view(start, end - start), value)) return false;
  scanner.set_at(end);
  return true;
}

void AppendNumber(std::string* out, double value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out->append(buffer, result.ptr - buffer);
}

// False: it has another form than those known here.
bool Canonical(std::string_view written, std::string* canonical) {
  Scanner scanner(written, "");
  if (!scanner.Try('{')) return false;
  const std::string_view kind = scanner.TryWord();
  if (!scanner.Try('=')) return false;
  if (kind == "mode") {
    const std::string mode = absl::AsciiStrToLower(std::string(scanner.TryWord()));
    if (mode != "default" && mode != "highest") return false;
    *canonical = mode == "default" ? "" : StrCat("{mode=", mode, "}");
    return scanner.Try('}');
  }
  double absolute = 0, relative = 0, ulps = 0;
  if (kind != "tolerance" || !scanner.Try('{')) return false;
  do {
    const std::string_view name = scanner.TryWord();
    double* const value = name == "atol" ? &absolute : name == "rtol" ? &relative : name == "ulps" ? &ulps : nullptr;
    if (value == nullptr || !scanner.Try('=') || !ReadNumber(scanner, value)) return false;
  } while (scanner.Try(','));
  if (!scanner.Try('}') || !scanner.Try('}') || !(ulps > -1e15 && ulps < 1e15)) return false;
  *canonical = "{tolerance={atol=";
  AppendNumber(canonical, absolute);
  *canonical += ",rtol=";
  AppendNumber(canonical, relative);
  StrAppend(canonical, ",ulps=", static_cast<int64_t>(ulps), "}}");
  return true;
}

}  // namespace

bool ReadResultAccuracy(Scanner& scanner, std::string* text) {
  scanner.SkipSpace();
  const char* start = scanner.at();
  if (!CheckBraces(scanner)) return false;
  const std::string_view written = scanner.From(start);
  if (!Canonical(written, text)) *text = written;
  return true;
}

}  // namespace smelt::hlo::text

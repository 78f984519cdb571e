#include "cli/words/number_flags.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace smelt::cli {
namespace {

constexpr double kLargest = 1e9;

CLI::Validator From(bool with_zero, const char* rule, const char* description) {
  return CLI::Validator(
      [with_zero, rule](std::string& value) -> std::string {
        double number;
        if (!absl::SimpleAtod(value, &number)) return absl::StrCat("`", value, "` is no number");
        if (!(number >= 0 && (with_zero || number > 0))) return absl::StrCat(value, " is not ", rule);
        return number <= kLargest ? "" : absl::StrCat(value, " is above ", kLargest);
      },
      description);
}

template <typename Number>
std::string CheckWhole(std::string& value) {
  Number number;
  if (absl::SimpleAtoi(value, &number)) {
    value = absl::StrCat(number);
    return "";
  }
  return absl::StrCat("`", value, "` is no whole number from ", std::numeric_limits<Number>::min(), " to ",
                      std::numeric_limits<Number>::max());
}

std::string CheckFinite(std::string& value) {
  double number;
  return absl::SimpleAtod(value, &number) && std::isfinite(number) ? ""
                                                                   : absl::StrCat("`", value, "` is no finite number");
}

// Digits, and a unit that CLI11 knows or not.
std::string CheckSize(std::string& value) {
  size_t digits = 0;
  while (digits < value.size() && absl::ascii_isdigit(value[digits])) ++digits;
  uint64_t number;
  return absl::SimpleAtoi(value.substr(0, digits), &number)
             ? ""
             : absl::StrCat("`", value, "` is no size: expected a whole number of bytes, or one as in 500M, 4G");
}

}  // namespace

CLI::Validator Positive() { return From(false, "above 0", "POSITIVE"); }
CLI::Validator NotNegative() { return From(true, "0 or more", "NONNEGATIVE"); }

void CheckNumbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    const std::string type = option->get_type_name();
    if (option->get_type_size() == 0) continue;  // no value
    std::string (*check)(std::string&) = nullptr;
    if (type.starts_with("FLOAT")) check = CheckFinite;
    if (type.starts_with("INT")) check = CheckWhole<int64_t>;
    if (type.starts_with("UINT")) check = type.find("SIZE") != std::string::npos ? CheckSize : CheckWhole<uint64_t>;
    if (check != nullptr) option->transform(CLI::Validator(check, ""));  // before the flag's own validators
  }
}

}  // namespace smelt::cli

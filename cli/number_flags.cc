#include <string>

#include "absl/strings/numbers.h"
#include "cli/verb.h"

namespace smelt::cli {
namespace {

CLI::Validator From(bool with_zero, const char* rule, const char* description) {
  return CLI::Validator(
      [with_zero, rule](std::string& value) -> std::string {
        double number;
        if (!absl::SimpleAtod(value, &number)) return "`" + value + "` is no number";
        const bool good = with_zero ? number >= 0 : number > 0;
        return good ? "" : value + " is not " + rule;
      },
      description);
}

}  // namespace

CLI::Validator Positive() { return From(false, "above 0", "POSITIVE"); }
CLI::Validator NotNegative() { return From(true, "0 or more", "NONNEGATIVE"); }

}  // namespace smelt::cli

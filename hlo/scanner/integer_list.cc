#include "hlo/scanner/integer_list.h"

#include "absl/strings/str_join.h"
#include "base/str_cat.h"

namespace smelt::hlo::text {

bool ReadIntegerList(Scanner& scanner, std::vector<int64_t>* values) {
  values->clear();
  if (!scanner.Expect('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (!scanner.Integer(&values->emplace_back())) return false;
  } while (scanner.Try(','));
  return scanner.Expect('}');
}

void AppendIntegerList(std::string* out, absl::Span<const int64_t> values) {
  StrAppend(out, "{", absl::StrJoin(values, ","), "}");
}

}  // namespace smelt::hlo::text

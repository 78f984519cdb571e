// Lists of integers in braces, the form in which HLO writes dimensions, and paths into tuples: `{0,2,1}`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::text {

// Reads `{0,2,1}` or `{}` in place of what `values` holds.
bool ReadIntegerList(Scanner& scanner, std::vector<int64_t>* values);
void AppendIntegerList(std::string* out, absl::Span<const int64_t> values);

}  // namespace smelt::hlo::text

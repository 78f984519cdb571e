// Words of the text that are no names, unless a `%` stands before them: keywords and element types.
//
//   IsReservedWord("ENTRY")   // true
#pragma once

#include <string_view>

namespace smelt::hlo::text {

bool IsReservedWord(std::string_view word);

}  // namespace smelt::hlo::text

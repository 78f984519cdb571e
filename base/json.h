// JSON text, read and written in one place.
//
//   const nlohmann::json json = smelt::ParseJson("{\"threads\": 2}");
//   if (json.is_discarded()) return 1;
//   std::puts(smelt::JsonText(json, 2).c_str());
//
// nlohmann's reader and writer are templates, which every file that calls them compiles again: five seconds and a
// hundred kilobytes each.
#pragma once

#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace smelt {

// The value that the text is; `is_discarded()` where it is no JSON.
nlohmann::json ParseJson(std::string_view text);
// The same, with members in the order of the text.
nlohmann::ordered_json ParseOrderedJson(std::string_view text);

// The text of a value: one line, or indented by so many spaces. What is not UTF-8 (names of files may be anything) is
// written as U+FFFD, and with `ascii` all that is not ASCII is escaped.
std::string JsonText(const nlohmann::json& value, int indent = -1, bool ascii = false);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1, bool ascii = false);

}  // namespace smelt

#include "base/json.h"

namespace smelt {
namespace {

template <typename Json>
Json Parse(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

template <typename Json>
std::string Text(const Json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

}  // namespace

nlohmann::json ParseJson(std::string_view text) { return Parse<nlohmann::json>(text); }
nlohmann::ordered_json ParseOrderedJson(std::string_view text) { return Parse<nlohmann::ordered_json>(text); }

std::string JsonText(const nlohmann::json& value, int indent, bool ascii) { return Text(value, indent, ascii); }
std::string JsonText(const nlohmann::ordered_json& value, int indent, bool ascii) { return Text(value, indent, ascii); }

}  // namespace smelt

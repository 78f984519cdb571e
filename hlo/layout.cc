#include "hlo/layout.h"

#include <algorithm>
#include <string_view>

#include "base/str_cat.h"

namespace smelt::hlo {

bool Layout::OrdersDimensions(int64_t rank) const {
  if (static_cast<int64_t>(minor_to_major.size()) != rank || rank > 64) return false;
  uint64_t seen = 0;
  for (int64_t dimension : minor_to_major) {
    if (dimension < 0 || dimension >= rank || (seen >> dimension & 1)) return false;
    seen |= uint64_t{1} << dimension;
  }
  return true;
}

void Layout::AppendTo(std::string* out) const {
  // `rest` holds D | L # * | SC M, which stand around tiles, element size and memory space.
  const std::string_view kept = rest;
  const auto after_group = [&](size_t at) { return std::min(kept.find(')', at), kept.size() - 1) + 1; };
  const size_t levels = kept.starts_with('D') ? after_group(0) : 0;
  size_t types = levels;
  while (types < kept.size() && std::string_view("L#*").find(kept[types]) != std::string_view::npos)
    types = after_group(types);
  const bool has_parts = !tiles.empty() || !kept.empty() || element_size_in_bits != 0 || memory_space != 0;
  if (minor_to_major.empty() && !has_parts) return;
  *out += '{';
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    StrAppend(out, i > 0 ? "," : "", minor_to_major[i]);
  }
  if (has_parts) {
    StrAppend(out, ":", kept.substr(0, levels));
    if (!tiles.empty()) *out += 'T';
    for (const std::vector<int64_t>& tile : tiles) {
      *out += '(';
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i > 0) *out += ',';
        if (tile[i] == INT64_MIN) {
          *out += '*';
        } else {
          StrAppend(out, tile[i]);
        }
      }
      *out += ')';
    }
    *out += kept.substr(levels, types - levels);
    if (element_size_in_bits != 0) StrAppend(out, "E(", element_size_in_bits, ")");
    if (memory_space != 0) StrAppend(out, "S(", memory_space, ")");
    *out += kept.substr(types);
  }
  *out += '}';
}

}  // namespace smelt::hlo

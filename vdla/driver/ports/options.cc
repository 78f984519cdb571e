#include "vdla/driver/ports/options.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::vdla::driver {

absl::StatusOr<Options> Options::Parse(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return absl::InvalidArgumentError(StrCat("`", part, "` is no option: write key=value, with a comma between two"));
    if (!options.values_.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return absl::InvalidArgumentError(StrCat("`", part.substr(0, equals), "` is given twice"));
  }
  return options;
}

absl::Status Options::CheckKnown(std::string_view port, std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : values_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string list;
    for (const std::string_view name : known) StrAppend(&list, list.empty() ? "" : ", ", name);
    return absl::InvalidArgumentError(StrCat("port `", port, "` has no option `", key, "`; it has ", list));
  }
  return absl::OkStatus();
}

std::string Options::Text(std::string_view key, std::string_view otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string(otherwise) : found->second;
}

absl::StatusOr<bool> Options::Flag(std::string_view key, bool otherwise) const {
  const std::string value = Text(key, otherwise ? "on" : "off");
  if (value == "on" || value == "off") return value == "on";
  return absl::InvalidArgumentError(StrCat("`", key, "=", value, "`: it is on or off"));
}

absl::StatusOr<uint64_t> Options::Number(std::string_view key, uint64_t otherwise) const {
  if (!Has(key)) return otherwise;
  const std::string text = Text(key, "");
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc() || shift < 0 || number == 0 || number > std::numeric_limits<uint64_t>::max() >> shift)
    return absl::InvalidArgumentError(
        StrCat("`", key, "=", text, "`: it is a whole number above zero, with K, M or G for powers of 1024"));
  return number << shift;
}

absl::StatusOr<isa::Config> Options::Machine() const {
  SMELT_ASSIGN_OR_RETURN(isa::Config machine, isa::Config::Open(Text("machine", "pynq")));
  SMELT_ASSIGN_OR_RETURN(const uint64_t dram, Number("dram", static_cast<uint64_t>(machine.dram_bytes)));
  machine.dram_bytes = static_cast<int64_t>(std::min(dram, static_cast<uint64_t>(machine.dram_bytes)));
  SMELT_RETURN_IF_ERROR(machine.Check());
  return machine;
}

Options Options::Without(std::string_view key) const {
  Options rest = *this;
  if (const auto found = rest.values_.find(key); found != rest.values_.end()) rest.values_.erase(found);
  return rest;
}

}  // namespace smelt::vdla::driver

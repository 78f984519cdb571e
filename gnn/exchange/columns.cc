#include "gnn/exchange/columns.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace smelt::gnn {
namespace {

// The fewest digits that read back the same.
std::string Number(double value) {
  for (const int digits : {6, 9, 12, 15}) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    double again = 0;
    if (absl::SimpleAtod(text, &again) && again == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

std::string Numbers(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) absl::StrAppend(&text, text.empty() ? "" : " ", Number(value));
  return text;
}

absl::Status ReadNumbers(const std::string& text, std::vector<double>* values) {
  values->clear();
  for (absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !std::isfinite(value) || !(value > 0))
      return absl::InvalidArgumentError(absl::StrCat("`", part, "`, expected seconds above 0, separated by spaces"));
    values->push_back(value);
  }
  return absl::OkStatus();
}

template <std::string KernelExample::*field>
TableColumn Text(const char* name) {
  return {name, [](const KernelExample& r, const Measurement&) { return r.*field; },
          [](const std::string& text, KernelExample* r, Measurement*) {
            r->*field = text;
            return absl::OkStatus();
          }};
}

template <std::vector<double> Measurement::*field>
TableColumn List(const char* name) {
  return {name, [](const KernelExample&, const Measurement& m) { return Numbers(m.*field); },
          [](const std::string& text, KernelExample*, Measurement* m) { return ReadNumbers(text, &(m->*field)); }};
}

}  // namespace

const std::vector<TableColumn>& TableColumns() {
  static const auto& columns = *new std::vector<TableColumn>{
      Text<&KernelExample::program>("program"),
      Text<&KernelExample::kernel_text>("kernel"),
      {"hash", [](const KernelExample& r, const Measurement&) { return r.hash.ToHex(); },
       [](const std::string&, KernelExample*, Measurement*) { return absl::OkStatus(); }},
      {"tile",
       [](const KernelExample&, const Measurement& m) {
         return m.tile.extents.empty() ? std::string() : m.tile.ToString();
       },
       [](const std::string& text, KernelExample*, Measurement* m) -> absl::Status {
         if (text.empty()) return absl::OkStatus();
         SMELT_ASSIGN_OR_RETURN(m->tile, kernels::nests::Tile::Parse(text));
         return absl::OkStatus();
       }},
      {"default", [](const KernelExample&, const Measurement& m) { return std::string(m.default_tile ? "1" : "0"); },
       [](const std::string& text, KernelExample*, Measurement* m) {
         if (text != "0" && text != "1")
           return absl::InvalidArgumentError(absl::StrCat("`", text, "`, expected 0 or 1"));
         m->default_tile = text == "1";
         return absl::OkStatus();
       }},
      List<&Measurement::seconds>("seconds"),
      List<&Measurement::reference_seconds>("reference_seconds"),
      {"error", [](const KernelExample&, const Measurement& m) { return m.error; },
       [](const std::string& text, KernelExample*, Measurement* m) {
         m->error = text;
         return absl::OkStatus();
       }},
      Text<&KernelExample::target>("target"),
      Text<&KernelExample::device>("device"),
      Text<&KernelExample::policy>("policy"),
      Text<&KernelExample::compiler>("compiler"),
      Text<&KernelExample::trace>("trace"),
      Text<&KernelExample::machine>("machine"),
      Text<&KernelExample::provenance>("provenance"),
      {"unix_seconds", [](const KernelExample& r, const Measurement&) { return absl::StrCat(r.unix_seconds); },
       [](const std::string& text, KernelExample* r, Measurement*) {
         if (text.empty() || absl::SimpleAtoi(text, &r->unix_seconds)) return absl::OkStatus();
         return absl::InvalidArgumentError(absl::StrCat("`", text, "`, expected a whole number"));
       }},
      Text<&KernelExample::placement>("placement"),
      {"distances", [](const KernelExample& r, const Measurement&) { return absl::StrJoin(r.distances, " "); },
       [](const std::string& text, KernelExample* r, Measurement*) {
         for (absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
           if (!absl::SimpleAtoi(part, &r->distances.emplace_back()) || r->distances.back() < 0)
             return absl::InvalidArgumentError(absl::StrCat("`", part, "`, expected bytes, separated by spaces"));
         }
         return absl::OkStatus();
       }},
      {"drift", [](const KernelExample& r, const Measurement&) { return Number(r.drift); },
       [](const std::string& text, KernelExample* r, Measurement*) {
         if (text.empty() || (absl::SimpleAtod(text, &r->drift) && std::isfinite(r->drift))) return absl::OkStatus();
         return absl::InvalidArgumentError(absl::StrCat("`", text, "`, expected a number"));
       }},
  };
  return columns;
}

}  // namespace smelt::gnn

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gnn/labels/statistics.h"
#include "nlohmann/json.hpp"

namespace smelt::gnn {
namespace {

using nlohmann::json;

std::string Counts(const char* title, const std::map<std::string, int64_t>& counts, size_t most) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [name, count] : counts) order.push_back({-count, name.empty() ? "(not told)" : name});
  std::sort(order.begin(), order.end());
  std::string text = absl::StrFormat("%-14s", title);
  for (size_t i = 0; i < order.size() && i < most; ++i)
    absl::StrAppend(&text, i > 0 ? ", " : "", order[i].second, " ", -order[i].first);
  if (order.size() > most) absl::StrAppend(&text, ", and ", order.size() - most, " more");
  return text + "\n";
}

double At(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

std::string Row(const char* title, const AgreementOf& of) {
  if (of.kernels == 0) return absl::StrFormat("%-24s none in both\n", title);
  return absl::StrFormat("%-24s %8d %14.1f %14.1f %14.1f %14.1f %14.3f\n", title, of.kernels,
                         100 * of.median_difference, 100 * of.ninetieth, 100 * of.far, 100 * of.mape, of.tau);
}

json Of(const AgreementOf& of) {
  return {{"kernels", of.kernels},     {"median_difference", of.median_difference},
          {"ninetieth", of.ninetieth}, {"far", of.far},
          {"mape_floor", of.mape},     {"tau_ceiling", of.tau}};
}

}  // namespace

std::string FormatStatistics(const CorpusStatistics& c) {
  std::string text = absl::StrFormat(
      "%s: %d kernels of %d programs in %d records; %d times, %d of tiles, %d failed; %d kernels visited again\n",
      c.folder, c.kernels, c.programs.size(), c.records, c.timed, c.tiles, c.failed, c.revisited);
  absl::StrAppend(&text, Counts("targets", c.targets, 4), Counts("compilers", c.compilers, 3),
                  Counts("kinds", c.kinds, 16), Counts("provenance", c.provenances, 8),
                  Counts("programs", c.programs, 8));
  absl::StrAppend(
      &text, absl::StrFormat("%-14sleast %.2f us, 10 %% below %.2f, median %.2f, 90 %% below %.2f, most %.2f\n",
                             "run time", 1e6 * At(c.seconds, 0), 1e6 * At(c.seconds, 0.1), 1e6 * At(c.seconds, 0.5),
                             1e6 * At(c.seconds, 0.9), 1e6 * At(c.seconds, 1)));
  absl::StrAppend(&text,
                  absl::StrFormat("%-14s%.2f %% between repeats of one visit (median); %d of %d visits in a spell\n",
                                  "noise", 100 * c.repeat_noise, c.unsteady, c.records));
  return text;
}

std::string FormatAgreement(const Agreement& agreement, const std::string& title) {
  return absl::StrCat(title, "\n",
                      absl::StrFormat("%-24s %8s %14s %14s %14s %14s %14s\n", "", "kernels", "difference %", "90th %",
                                      "> 10 % off, %", "MAPE floor %", "tau ceiling"),
                      Row("kernels of 5 us and more", agreement.large), Row("kernels below 5 us", agreement.small));
}

json ToJson(const CorpusStatistics& c) {
  return {{"folder", c.folder},
          {"records", c.records},
          {"kernels", c.kernels},
          {"timed", c.timed},
          {"failed", c.failed},
          {"tiles", c.tiles},
          {"revisited", c.revisited},
          {"unsteady", c.unsteady},
          {"repeat_noise", c.repeat_noise},
          {"programs", c.programs},
          {"kinds", c.kinds},
          {"targets", c.targets},
          {"compilers", c.compilers},
          {"provenance", c.provenances},
          {"seconds", {{"least", At(c.seconds, 0)}, {"median", At(c.seconds, 0.5)}, {"most", At(c.seconds, 1)}}}};
}

json ToJson(const Agreement& agreement) { return {{"large", Of(agreement.large)}, {"small", Of(agreement.small)}}; }

}  // namespace smelt::gnn

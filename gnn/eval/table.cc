#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "gnn/eval/evaluate.h"
#include "gnn/eval/metrics.h"
#include "gnn/exchange/csv.h"
#include "nlohmann/json.hpp"

namespace smelt::gnn {
namespace {

using nlohmann::json;

// One figure of a contender for a program, absent when it has none there.
using Figure = std::pair<bool, double>;
using Getter = Figure (*)(const ContenderErrors& errors, const std::string& program);

template <typename Map, typename Field>
Figure Get(const Map& map, const std::string& program, Field field) {
  auto it = map.find(program);
  if (it == map.end() || std::isnan(it->second.*field)) return {false, 0};
  return {true, it->second.*field};
}

struct Column {
  const char* title;
  bool percent;
  Getter get;
};

constexpr Column kLarge[] = {
    {"MAPE %", true,
     [](const ContenderErrors& e, const std::string& p) { return Get(e.large, p, &FusionError::mape); }},
    {"tau", false, [](const ContenderErrors& e, const std::string& p) { return Get(e.large, p, &FusionError::tau); }},
};
constexpr Column kSmall[] = {
    {"MAPE %", true,
     [](const ContenderErrors& e, const std::string& p) { return Get(e.small, p, &FusionError::mape); }},
    {"tau", false, [](const ContenderErrors& e, const std::string& p) { return Get(e.small, p, &FusionError::tau); }},
};
constexpr Column kTiles[] = {
    {"APE %", true, [](const ContenderErrors& e, const std::string& p) { return Get(e.tiles, p, &TileError::ape); }},
    {"tau", false, [](const ContenderErrors& e, const std::string& p) { return Get(e.tiles, p, &TileError::tau); }},
    {"@1 %", true,
     [](const ContenderErrors& e, const std::string& p) { return Get(e.tiles, p, &TileError::slowdown1); }},
    {"@5 %", true,
     [](const ContenderErrors& e, const std::string& p) { return Get(e.tiles, p, &TileError::slowdown5); }},
    {"@10 %", true,
     [](const ContenderErrors& e, const std::string& p) { return Get(e.tiles, p, &TileError::slowdown10); }},
};

std::string Cell(const Figure& figure, bool percent) {
  if (!figure.first) return absl::StrFormat("%9s", "-");
  return percent ? absl::StrFormat("%9.1f", 100 * figure.second) : absl::StrFormat("%9.2f", figure.second);
}

std::vector<int64_t> Timed(const Dataset& data, const std::vector<int64_t>& examples) {
  std::vector<int64_t> timed;
  std::copy_if(examples.begin(), examples.end(), std::back_inserter(timed),
               [&](int64_t i) { return data.examples[i].seconds > 0; });
  return timed;
}

template <typename Map>
void AddPrograms(const Map& map, std::set<std::string>* programs) {
  for (const auto& [program, error] : map) programs->insert(program);
}

template <size_t N>
std::string Section(const EvalTable& table, const std::string& title, const Column (&columns)[N],
                    const std::set<std::string>& programs) {
  if (programs.empty()) return "";
  // Those that have anything to say of this task.
  std::vector<const ContenderErrors*> contenders;
  for (const ContenderErrors& contender : table.contenders) {
    const auto says = [&](const std::string& program) { return columns[0].get(contender, program).first; };
    if (std::any_of(programs.begin(), programs.end(), says)) contenders.push_back(&contender);
  }
  std::string text = absl::StrCat(title, "\n", absl::StrFormat("%-36s", "program"));
  for (const Column& column : columns) {
    for (const ContenderErrors* contender : contenders)
      absl::StrAppend(&text, absl::StrFormat(" %11s", contender->name.substr(0, 11)));
    (void)column;
  }
  absl::StrAppend(&text, "\n", absl::StrFormat("%-36s", ""));
  for (const Column& column : columns) {
    for (size_t i = 0; i < contenders.size(); ++i) absl::StrAppend(&text, absl::StrFormat(" %11s", column.title));
  }
  text += "\n";
  auto row = [&](const std::string& name, auto figure) {
    absl::StrAppend(&text, absl::StrFormat("%-36s", name.substr(0, 36)));
    for (const Column& column : columns) {
      for (const ContenderErrors* contender : contenders)
        absl::StrAppend(&text, "   ", Cell(figure(column, *contender), column.percent));
    }
    text += "\n";
  };
  for (const std::string& program : programs) {
    row(program,
        [&](const Column& column, const ContenderErrors& contender) { return column.get(contender, program); });
  }
  for (const bool median : {true, false}) {
    row(median ? "median over programs" : "mean over programs",
        [&](const Column& column, const ContenderErrors& contender) -> Figure {
          std::vector<double> values;
          for (const std::string& program : programs) {
            const Figure figure = column.get(contender, program);
            if (figure.first) values.push_back(figure.second);
          }
          if (values.empty()) return {false, 0};
          return {true, median ? Median(values) : Mean(values)};
        });
  }
  return text + "\n";
}

}  // namespace

std::string FormatTable(const EvalTable& table) {
  std::set<std::string> large, small, tiles;
  for (const ContenderErrors& contender : table.contenders) {
    AddPrograms(contender.large, &large);
    AddPrograms(contender.small, &small);
    AddPrograms(contender.tiles, &tiles);
  }
  return absl::StrCat(
      Section(table, "Fusion task, kernels of at least 5 us", kLarge, large),
      Section(table, "Fusion task, kernels below 5 us", kSmall, small), Section(table, "Tile task", kTiles, tiles),
      absl::StrFormat("%d kernels never seen in training; repeats of one kernel spread by %.1f %% (median)\n",
                      table.kernels, 100 * table.noise));
}

json TableToJson(const EvalTable& table) {
  json result{{"kernels", table.kernels}, {"noise", table.noise}, {"contenders", json::array()}};
  for (const ContenderErrors& contender : table.contenders) {
    json entry{
        {"name", contender.name}, {"large", json::object()}, {"small", json::object()}, {"tiles", json::object()}};
    for (const auto& [program, e] : contender.large)
      entry["large"][program] = {{"mape", e.mape}, {"tau", e.tau}, {"kernels", e.kernels}};
    for (const auto& [program, e] : contender.small)
      entry["small"][program] = {{"mape", e.mape}, {"tau", e.tau}, {"kernels", e.kernels}};
    for (const auto& [program, e] : contender.tiles) {
      entry["tiles"][program] = {{"ape", e.ape},
                                 {"tau", e.tau},
                                 {"slowdown1", e.slowdown1},
                                 {"slowdown5", e.slowdown5},
                                 {"slowdown10", e.slowdown10},
                                 {"kernels", e.kernels}};
    }
    result["contenders"].push_back(std::move(entry));
  }
  return result;
}

absl::StatusOr<std::string> KernelsCsv(const Dataset& data, const std::vector<int64_t>& examples,
                                       const std::vector<Contender>& contenders) {
  const std::vector<int64_t> timed = Timed(data, examples);
  std::vector<std::string> row = {"program", "kernel", "kind", "nodes", "seconds"};
  std::vector<std::vector<double>> predicted;
  for (const Contender& contender : contenders) {
    if (!contender.seconds) continue;
    SMELT_ASSIGN_OR_RETURN(std::vector<double> seconds, contender.seconds(data, timed));
    predicted.push_back(std::move(seconds));
    row.push_back(contender.name);
  }
  std::string text = CsvRow(row);
  for (size_t k = 0; k < timed.size(); ++k) {
    const Example& example = data.examples[timed[k]];
    row = {example.program, example.hash.ToHex(), example.kind, absl::StrCat(example.graph.node_count()),
           absl::StrFormat("%.4g", example.seconds)};
    for (const std::vector<double>& seconds : predicted) row.push_back(absl::StrFormat("%.4g", seconds[k]));
    text += CsvRow(row);
  }
  return text;
}

absl::StatusOr<std::string> ScatterSvg(const Dataset& data, const std::vector<int64_t>& examples,
                                       const Contender& contender) {
  const std::vector<int64_t> timed = Timed(data, examples);
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> predicted, contender.seconds(data, timed));
  constexpr double kSize = 480, kMargin = 50;
  constexpr double kLow = -7, kHigh = 0;  // decades of seconds
  auto x = [&](double seconds) {
    return kMargin + (std::clamp(std::log10(seconds), kLow, kHigh) - kLow) / (kHigh - kLow) * kSize;
  };
  auto y = [&](double seconds) {
    return kMargin + kSize - (std::clamp(std::log10(seconds), kLow, kHigh) - kLow) / (kHigh - kLow) * kSize;
  };
  const double full = kSize + 2 * kMargin;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      full, full);
  for (int decade = static_cast<int>(kLow); decade <= static_cast<int>(kHigh); ++decade) {
    const double at = std::pow(10.0, decade);
    absl::StrAppend(
        &svg,
        absl::StrFormat(
            "<path d=\"M%g %gV%gM%g %gH%g\" stroke=\"#ddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"middle\">1e%d</text>"
            "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">1e%d</text>\n",
            x(at), kMargin, kMargin + kSize, kMargin, y(at), kMargin + kSize, x(at), kMargin + kSize + 16, decade,
            kMargin - 6, y(at) + 4, decade));
  }
  absl::StrAppend(&svg, absl::StrFormat("<path d=\"M%g %gL%g %g\" stroke=\"#888\"/>\n", x(1e-7), y(1e-7), x(1), y(1)));
  for (size_t i = 0; i < timed.size(); ++i) {
    absl::StrAppend(
        &svg, absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.5\" fill=\"#1f77b4\" fill-opacity=\"0.4\"/>\n",
                              x(data.examples[timed[i]].seconds), y(predicted[i])));
  }
  return svg + absl::StrFormat(
                   "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">measured seconds</text>"
                   "<text x=\"14\" y=\"%g\" transform=\"rotate(-90 14 %g)\" text-anchor=\"middle\">predicted "
                   "seconds</text></svg>\n",
                   full / 2, full - 8, full / 2, full / 2);
}

}  // namespace smelt::gnn

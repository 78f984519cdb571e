#include "sim/report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_format.h"
#include "base/json.h"
#include "base/str_cat.h"

namespace smelt::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEndNames[] = {"finished", "illegal", "trap", "deadlock", "leftover_tokens", "limit"};

struct Cause {
  const char* name;
  double UnitReport::*cycles;
};
constexpr Cause kCauses[] = {{"busy", &UnitReport::busy},
                             {"token", &UnitReport::token},
                             {"dma", &UnitReport::dma},
                             {"port", &UnitReport::port},
                             {"queue", &UnitReport::queue}};

double GigaOps(const Report& report, const vdla::isa::Program& program) {
  if (report.seconds <= 0) return 0;
  return 2.0 * static_cast<double>(report.gemm_micro_ops * program.config.MacsOfGemm()) / report.seconds / 1e9;
}

}  // namespace

std::array<int, 5> Shares(const UnitReport& unit) {
  std::array<int, 5> shares{};
  std::array<double, 5> rest{};
  double total = 0;
  for (const Cause& cause : kCauses) total += unit.*cause.cycles;
  if (total <= 0) return shares;
  int left = 1000;
  for (size_t c = 0; c < shares.size(); ++c) {
    const double exact = unit.*kCauses[c].cycles / total * 1000;
    shares[c] = static_cast<int>(exact);
    rest[c] = exact - shares[c];
    left -= shares[c];
  }
  for (; left > 0; --left) {
    const size_t largest = static_cast<size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    ++shares[largest];
    rest[largest] = -1;
  }
  return shares;
}

std::string ToTable(const Report& report, const vdla::isa::Program& program) {
  std::string text = StrCat(program.name, " on ", program.config.name, ": ");
  if (report.cycles == 0) {
    StrAppend(&text, program.instructions.size(), " instructions, without time\n");
  } else {
    absl::StrAppendFormat(
        &text, "%d cycles, %.4g ms at %.4g MHz; GEMM %.1f %% of the cycles, %.4g of %.4g GOP/s\n", report.cycles,
        report.seconds * 1e3, static_cast<double>(program.config.clock_hz) / 1e6, report.Utilisation() * 100,
        GigaOps(report, program),
        2e-9 * static_cast<double>(program.config.MacsOfGemm()) * static_cast<double>(program.config.clock_hz));
    absl::StrAppendFormat(&text, "%-8s %12s %7s %7s %7s %7s %7s\n", "unit", "instructions", "busy", "token", "DMA",
                          "port", "queue");
    for (const vdla::isa::Unit unit : vdla::isa::kAllUnits) {
      const UnitReport& u = report.units[static_cast<size_t>(unit)];
      absl::StrAppendFormat(&text, "%-8s %12d", std::string(NameOf(unit)), u.instructions);
      for (const int share : Shares(u)) absl::StrAppendFormat(&text, " %5d.%d%%", share / 10, share % 10);
      text += "\n";
    }
    absl::StrAppendFormat(&text,
                          "DRAM: %d bytes read, %d written, %d fetched; the bus is busy for %.1f %% of the cycles\n",
                          report.dram_read_bytes, report.dram_written_bytes, report.fetched_bytes,
                          report.bus_busy / static_cast<double>(report.cycles) * 100);
    absl::StrAppendFormat(&text, "GEMM: %d micro-ops, %d stalls; ALU: %d micro-ops\n", report.gemm_micro_ops,
                          report.gemm_stalls, report.alu_micro_ops);
  }
  for (const Race& race : report.races) StrAppend(&text, race.message, "\n");
  if (report.race_count > static_cast<int64_t>(report.races.size()))
    StrAppend(&text, report.race_count - static_cast<int64_t>(report.races.size()),
              " more pairs of instructions race\n");
  return text;
}

std::string ToJson(const Report& report, const vdla::isa::Program& program) {
  Json json = {{"program", program.name},
               {"machine", program.config.name},
               {"end", kEndNames[static_cast<size_t>(report.end)]},
               {"message", report.message},
               {"instruction", report.instruction},
               {"instructions", program.instructions.size()},
               {"cycles", report.cycles},
               {"seconds", report.seconds},
               {"utilisation", report.Utilisation()},
               {"giga_ops_per_second", GigaOps(report, program)},
               {"gemm_micro_ops", report.gemm_micro_ops},
               {"gemm_stalls", report.gemm_stalls},
               {"alu_micro_ops", report.alu_micro_ops},
               {"dram_read_bytes", report.dram_read_bytes},
               {"dram_written_bytes", report.dram_written_bytes},
               {"fetched_bytes", report.fetched_bytes},
               {"bus_busy_cycles", report.bus_busy},
               {"fetch_blocked_cycles", report.fetch_blocked},
               {"race_count", report.race_count}};
  for (const vdla::isa::Unit unit : vdla::isa::kAllUnits) {
    const UnitReport& u = report.units[static_cast<size_t>(unit)];
    Json& row = json["units"][std::string(NameOf(unit))];
    row["instructions"] = u.instructions;
    const std::array<int, 5> shares = Shares(u);
    for (size_t c = 0; c < shares.size(); ++c) {
      row[StrCat(kCauses[c].name, "_cycles")] = u.*kCauses[c].cycles;
      row[StrCat(kCauses[c].name, "_percent")] = shares[c] / 10.0;
    }
  }
  json["races"] = Json::array();
  for (const Race& race : report.races)
    json["races"].push_back(
        {{"first", race.first}, {"second", race.second}, {"what", race.what}, {"message", race.message}});
  return JsonText(json, 2, /*ascii=*/true) + "\n";
}

}  // namespace smelt::sim

#include "sim/trace.h"

#include "base/json.h"
#include "base/str_cat.h"
#include "vdla/isa/assembly.h"

namespace smelt::sim {

using vdla::isa::Instruction;
using vdla::isa::kUnits;
using Json = nlohmann::ordered_json;

std::string ToChromeTrace(const Trace& trace, const vdla::isa::Program& program) {
  const double microseconds = 1e6 / static_cast<double>(program.config.clock_hz);  // of a cycle
  constexpr int kBusRow = kUnits, kProcess = 1;
  Json events = Json::array();
  const auto name_row = [&](int row, std::string_view name) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", kProcess},
                      {"tid", row},
                      {"args", {{"name", std::string(name)}}}});
  };
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", kProcess},
                    {"args", {{"name", StrCat(program.name, " on ", program.config.name)}}}});
  for (const vdla::isa::Unit unit : vdla::isa::kAllUnits) name_row(static_cast<int>(unit), NameOf(unit));
  name_row(kBusRow, "DRAM bus");
  const auto span = [&](std::string name, std::string_view category, int row, double begin, double end, Json args) {
    events.push_back({{"ph", "X"},
                      {"name", std::move(name)},
                      {"cat", std::string(category)},
                      {"pid", kProcess},
                      {"tid", row},
                      {"ts", begin * microseconds},
                      {"dur", (end - begin) * microseconds},
                      {"args", std::move(args)}});
  };
  for (const Retired& r : trace.retired) {
    const int row = static_cast<int>(r.unit);
    const Instruction& i = program.instructions[static_cast<size_t>(r.instruction)];
    const Json args = {{"instruction", r.instruction},
                       {"text", vdla::isa::DisassembleInstruction(i)},
                       {"cycle", r.start},
                       {"cycles", r.end - r.start}};
    const std::string waits = StrCat("waits for a token: ", r.instruction);
    if (r.start > r.ready)
      span(waits, "token", row, static_cast<double>(r.ready), static_cast<double>(r.start),
           {{"instruction", r.instruction}});
    std::string name(NameOf(i.opcode));
    if (i.opcode == vdla::isa::Opcode::kLoad || i.opcode == vdla::isa::Opcode::kStore)
      StrAppend(&name, " ", NameOf(i.memory));
    if (i.opcode == vdla::isa::Opcode::kAlu) StrAppend(&name, " ", NameOf(i.op));
    span(name, "work", row, static_cast<double>(r.start), static_cast<double>(r.end), args);
    if (r.retired > r.end)
      span(waits, "token", row, static_cast<double>(r.end), static_cast<double>(r.retired),
           {{"instruction", r.instruction}});
  }
  for (const Trace::Transfer& t : trace.transfers) {
    const bool fetch = t.owner == kUnits;
    span(fetch ? "fetch" : std::string(NameOf(static_cast<vdla::isa::Unit>(t.owner))), "bus", kBusRow,
         static_cast<double>(t.begin) / 1000, static_cast<double>(t.end) / 1000, Json::object());
  }
  return JsonText(Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}) + "\n";
}

}  // namespace smelt::sim

#include "vdla/isa/config.h"

#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/built_in_configs.h"

namespace smelt::vdla::isa {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLargestFile = 1 << 20;
constexpr int64_t kMost = int64_t{1} << 40;
constexpr int64_t kMostCycles = 1'000'000;

// A whole number of a machine, and the limits that keep every product of two of them within 64 bits.
template <typename Owner>
struct Number {
  const char* name;
  int64_t Owner::*member;
  int64_t least, most;
};
constexpr Number<Config> kNumbers[] = {
    {"version", &Config::version, kVersion, kVersion},
    {"batch", &Config::batch, 1, 64},
    {"block_in", &Config::block_in, 1, 256},
    {"block_out", &Config::block_out, 1, 256},
    {"clock_hz", &Config::clock_hz, 1, kMost},
    {"inp_bytes", &Config::inp_bytes, 1, kMost},
    {"wgt_bytes", &Config::wgt_bytes, 1, kMost},
    {"acc_bytes", &Config::acc_bytes, 1, kMost},
    {"uop_bytes", &Config::uop_bytes, 1, kMost},
    {"dram_bytes", &Config::dram_bytes, 4096, kMost},
    {"command_queue_depth", &Config::command_queue_depth, 1, 1 << 20},
    {"token_queue_depth", &Config::token_queue_depth, 1, 1 << 20},
};
constexpr Number<Timing> kTimingNumbers[] = {
    {"dram_latency", &Timing::dram_latency, 0, kMostCycles},
    {"burst_bytes", &Timing::burst_bytes, 1, 1 << 20},
    {"outstanding_requests", &Timing::outstanding_requests, 1, 1024},
    {"row_cycles", &Timing::row_cycles, 0, kMostCycles},
    {"pad_elements_per_cycle", &Timing::pad_elements_per_cycle, 1, 4096},
    {"gemm_drain", &Timing::gemm_drain, 0, kMostCycles},
    {"gemm_raw_distance", &Timing::gemm_raw_distance, 1, 64},
    {"alu_drain", &Timing::alu_drain, 0, kMostCycles},
    {"alu_tensor_cycles", &Timing::alu_tensor_cycles, 1, kMostCycles},
    {"alu_immediate_cycles", &Timing::alu_immediate_cycles, 1, kMostCycles},
    {"fetch_instructions", &Timing::fetch_instructions, 1, 4096},
    {"fetch_cycles", &Timing::fetch_cycles, 0, kMostCycles},
    {"token_cycles", &Timing::token_cycles, 0, kMostCycles},
    {"sram_ports", &Timing::sram_ports, 1, 2},
};
constexpr const char* kBytesPerCycle = "dram_bytes_per_cycle";
constexpr double kLeastBytesPerCycle = 0.001, kMostBytesPerCycle = 4096;

absl::Status Wrong(std::string_view origin, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(origin, ": ", what));
}

absl::Status CheckLimits(std::string_view origin, std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return Wrong(origin, StrCat("`", name, "` is ", value, "; it must be ",
                              least == most ? "" : StrCat("from ", least, " to "), most));
}

// The field as a whole number within its limits.
absl::Status ReadNumber(std::string_view origin, const Json& object, std::string_view path, const char* name,
                        int64_t least, int64_t most, int64_t* value) {
  const auto it = object.find(name);
  if (it == object.end()) return Wrong(origin, StrCat("has no `", path, name, "`"));
  const bool whole = it->is_number_integer() &&
                     !(it->is_number_unsigned() && it->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
  if (!whole) return Wrong(origin, StrCat("`", path, name, "` is no whole number"));
  *value = it->get<int64_t>();
  return CheckLimits(origin, StrCat(path, name), *value, least, most);
}

absl::Status RefuseUnknown(std::string_view origin, const Json& object, std::string_view path,
                           const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (known.count(key) == 0) return Wrong(origin, StrCat("`", path, key, "` is no field of a machine"));
  }
  return absl::OkStatus();
}

// Text that nests deeper than a machine ever does, which would use up the parser's stack.
bool NestsTooDeep(std::string_view json) {
  int depth = 0;
  for (const char c : json) {
    if ((c == '{' || c == '[') && ++depth > 16) return true;
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  for (const char c : name) {
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.')
      return false;
  }
  return true;
}

struct BuiltIn {
  const char* name;
  const char* (*text)();
};
constexpr BuiltIn kBuiltIn[] = {{"pynq", PynqConfig}, {"big", BigConfig}};

}  // namespace

absl::StatusOr<Config> Config::Named(std::string_view name) {
  for (const BuiltIn& machine : kBuiltIn) {
    if (name == machine.name) return Parse(machine.text(), StrCat("vdla/configs/", machine.name, ".json"));
  }
  return absl::NotFoundError(StrCat("no machine is called `", name, "`; there are ", absl::StrJoin(Names(), ", "),
                                    ", and any file of the form of vdla/configs/pynq.json"));
}

std::vector<std::string> Config::Names() {
  std::vector<std::string> names;
  for (const BuiltIn& machine : kBuiltIn) names.push_back(machine.name);
  return names;
}

absl::StatusOr<Config> Config::Parse(std::string_view text, std::string_view origin) {
  if (NestsTooDeep(text)) return Wrong(origin, "is no machine: it nests too deep");
  const Json json = ParseOrderedJson(text);
  if (json.is_discarded()) return Wrong(origin, "is no JSON");
  if (!json.is_object()) return Wrong(origin, "is no JSON object");
  std::set<std::string> known = {"name", "timing"}, known_timing = {kBytesPerCycle};
  for (const auto& number : kNumbers) known.insert(number.name);
  for (const auto& number : kTimingNumbers) known_timing.insert(number.name);
  SMELT_RETURN_IF_ERROR(RefuseUnknown(origin, json, "", known));

  Config config;
  if (!json.contains("name") || !json["name"].is_string()) return Wrong(origin, "has no text `name`");
  config.name = json["name"].get<std::string>();
  for (const auto& number : kNumbers)
    SMELT_RETURN_IF_ERROR(
        ReadNumber(origin, json, "", number.name, number.least, number.most, &(config.*number.member)));
  if (!json.contains("timing") || !json["timing"].is_object()) return Wrong(origin, "has no object `timing`");
  const Json& timing = json["timing"];
  SMELT_RETURN_IF_ERROR(RefuseUnknown(origin, timing, "timing.", known_timing));
  for (const auto& number : kTimingNumbers) {
    SMELT_RETURN_IF_ERROR(
        ReadNumber(origin, timing, "timing.", number.name, number.least, number.most, &(config.timing.*number.member)));
  }
  if (!timing.contains(kBytesPerCycle) || !timing[kBytesPerCycle].is_number())
    return Wrong(origin, StrCat("has no number `timing.", kBytesPerCycle, "`"));
  config.timing.dram_bytes_per_cycle = timing[kBytesPerCycle].get<double>();
  if (const absl::Status status = config.Check(); !status.ok()) return Wrong(origin, std::string(status.message()));
  return config;
}

absl::StatusOr<Config> Config::Open(const std::string& name_or_path) {
  if (absl::StatusOr<Config> named = Named(name_or_path); named.ok()) return named;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name_or_path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return absl::NotFoundError(StrCat("`", name_or_path, "` is no machine that is built in (",
                                      absl::StrJoin(Names(), ", "), "), and no file that can be read"));
  }
  std::string text(kLargestFile + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return Wrong(name_or_path, "cannot be read");
  if (text.size() > kLargestFile) return Wrong(name_or_path, "is too large for a machine");
  return Parse(text, name_or_path);
}

std::string Config::ToJson() const {
  Json json = {{"name", name}};
  for (const auto& number : kNumbers) json[number.name] = this->*number.member;
  json["timing"][kBytesPerCycle] = timing.dram_bytes_per_cycle;
  for (const auto& number : kTimingNumbers) json["timing"][number.name] = timing.*number.member;
  return JsonText(json, 2, /*ascii=*/true) + "\n";
}

absl::Status Config::Check() const {
  if (!IsName(name)) return absl::InvalidArgumentError("`name` must be 1 to 64 letters, digits, `_`, `-` and `.`");
  const std::string origin = StrCat("machine ", name);
  for (const auto& number : kNumbers)
    SMELT_RETURN_IF_ERROR(CheckLimits(origin, number.name, this->*number.member, number.least, number.most));
  for (const auto& number : kTimingNumbers)
    SMELT_RETURN_IF_ERROR(
        CheckLimits(origin, StrCat("timing.", number.name), timing.*number.member, number.least, number.most));
  const double rate = timing.dram_bytes_per_cycle;
  if (!(rate >= kLeastBytesPerCycle && rate <= kMostBytesPerCycle) ||
      std::abs(rate * 1000 - std::round(rate * 1000)) > 1e-6)
    return Wrong(origin,
                 StrCat("`timing.", kBytesPerCycle, "` is ", rate, "; it must be from 0.001 to 4096 in thousandths"));
  const struct {
    Memory memory;
    const char* field;
    int64_t bytes;
  } memories[] = {{Memory::kInp, "inp_bytes", inp_bytes},
                  {Memory::kWgt, "wgt_bytes", wgt_bytes},
                  {Memory::kAcc, "acc_bytes", acc_bytes},
                  {Memory::kUop, "uop_bytes", uop_bytes}};
  for (const auto& [memory, field, bytes] : memories) {
    const int64_t element = SramElementBytes(memory), most = kMostElements[static_cast<int>(memory)];
    if (bytes % element != 0 || bytes / element > most) {
      return Wrong(origin, StrCat("`", field, "` is ", bytes, "; it must be a multiple of the ", element,
                                  " bytes of an element, and at most ", most, " of them"));
    }
  }
  return absl::OkStatus();
}

int64_t Config::DramElementBytes(Memory memory) const {
  const int64_t bytes[kMemories] = {kMicroOpBytes, block_out * block_in, batch * block_in, batch * block_out * 4,
                                    batch * block_out};
  return bytes[static_cast<int>(memory)];
}

int64_t Config::SramElementBytes(Memory memory) const {
  return DramElementBytes(memory == Memory::kAcc8 ? Memory::kAcc : memory);
}

int64_t Config::DepthOf(Memory memory) const {
  const int64_t bytes[kMemories] = {uop_bytes, wgt_bytes, inp_bytes, acc_bytes, acc_bytes};
  return bytes[static_cast<int>(memory)] / SramElementBytes(memory);
}

}  // namespace smelt::vdla::isa

#include "machine/descriptor.h"

#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/str_cat.h"

namespace smelt::machine {
namespace {

using nlohmann::json;

struct Whole {
  const char* name;
  int Machine::*field;
  int most;
};
const Whole kWholes[] = {
    {"threads", &Machine::threads, 1024},
    {"vector_bytes", &Machine::vector_bytes, 4096},
    {"vector_registers", &Machine::vector_registers, 4096},
};
struct Real {
  const char* name;
  double Machine::*field;
};
const Real kReals[] = {
    {"peak_flops_f32", &Machine::peak_flops_f32},
    {"vector_flops_f32", &Machine::vector_flops_f32},
    {"launch_seconds", &Machine::launch_seconds},
    {"fork_seconds", &Machine::fork_seconds},
};

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(StrCat("machine descriptor: ", what)); }

absl::Status ReadReal(const json& value, const std::string& name, double* out) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || !(value.get<double>() > 0))
    return Wrong(StrCat("`", name, "` is ", JsonText(value), ", expected a number above 0"));
  *out = value.get<double>();
  return absl::OkStatus();
}

absl::Status ReadInstructions(const json& value, std::vector<std::string>* instructions) {
  constexpr size_t kMost = 256;
  if (!value.is_array() || value.size() > kMost)
    return Wrong(StrCat("`instructions` is no list of at most ", kMost, " texts"));
  instructions->clear();
  for (const json& name : value) {
    if (!name.is_string())
      return Wrong(StrCat("`instructions` has ", JsonText(name), ", expected a text, such as \"avx512vnni\""));
    instructions->push_back(name.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadLevel(const json& value, bool last, MemoryLevel* level) {
  if (!value.is_object()) return Wrong(StrCat("a level is ", JsonText(value), ", expected an object"));
  bool has_bandwidth = false;
  for (const auto& [key, field] : value.items()) {
    if (key == "scope" && field.is_string()) {
      level->scope = field.get<std::string>();
    } else if (key == "bytes" && field.is_number_integer() && field.get<int64_t>() > 0) {
      level->bytes = field.get<int64_t>();
    } else if (key == "bytes_per_second") {
      if (const absl::Status status = ReadReal(field, key, &level->bytes_per_second); !status.ok()) return status;
      has_bandwidth = true;
    } else {
      return Wrong(StrCat("a level has `", key, "`: ", JsonText(field),
                          "; expected `scope` (a text), `bytes` (a whole number above 0) and `bytes_per_second`"));
    }
  }
  if (level->scope.empty() || !has_bandwidth || (level->bytes == 0 && !last))
    return Wrong("a level lacks `scope`, `bytes` or `bytes_per_second`");
  if (last) level->bytes = std::numeric_limits<int64_t>::max();
  return absl::OkStatus();
}

absl::Status ReadLevels(const json& value, std::vector<MemoryLevel>* levels) {
  if (!value.is_array() || value.size() < 2)
    return Wrong("`levels` lists fewer than two levels of the memory; the last one holds everything");
  levels->clear();
  for (size_t i = 0; i < value.size(); ++i) {
    MemoryLevel level{"", 0, 0};
    if (const absl::Status status = ReadLevel(value[i], i + 1 == value.size(), &level); !status.ok()) return status;
    if (!levels->empty() && level.bytes < levels->back().bytes)
      return Wrong(StrCat("level `", level.scope, "` holds less than `", levels->back().scope, "` before it"));
    levels->push_back(std::move(level));
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeMachine(const Machine& machine) {
  json result{{"name", machine.name}, {"instructions", machine.instructions}, {"levels", json::array()}};
  for (const Whole& whole : kWholes) result[whole.name] = machine.*whole.field;
  for (const Real& real : kReals) result[real.name] = machine.*real.field;
  for (size_t i = 0; i < machine.levels.size(); ++i) {
    const MemoryLevel& level = machine.levels[i];
    json entry{{"scope", level.scope}, {"bytes_per_second", level.bytes_per_second}};
    if (i + 1 < machine.levels.size()) entry["bytes"] = level.bytes;
    result["levels"].push_back(std::move(entry));
  }
  return JsonText(result);
}

absl::StatusOr<Machine> ReadMachine(std::string_view text) {
  const json value = ParseJson(text);
  if (!value.is_object()) return Wrong("is no JSON object");
  Machine machine;
  for (const auto& [key, field] : value.items()) {
    absl::Status status = Wrong(StrCat("has `", key, "`, which is no field of a machine"));
    if (key == "name") {
      status = field.is_string() ? absl::OkStatus() : Wrong(StrCat("`name` is ", JsonText(field), ", expected a text"));
      if (status.ok()) machine.name = field.get<std::string>();
    } else if (key == "levels") {
      status = ReadLevels(field, &machine.levels);
    } else if (key == "instructions") {
      status = ReadInstructions(field, &machine.instructions);
    }
    for (const Whole& whole : kWholes) {
      if (key != whole.name) continue;
      const bool fits = field.is_number_integer() && field.get<int64_t>() >= 1 && field.get<int64_t>() <= whole.most;
      status =
          fits ? absl::OkStatus()
               : Wrong(StrCat("`", key, "` is ", JsonText(field), ", expected a whole number from 1 to ", whole.most));
      if (fits) machine.*whole.field = field.get<int>();
    }
    for (const Real& real : kReals) {
      if (key == real.name) status = ReadReal(field, key, &(machine.*real.field));
    }
    if (!status.ok()) return status;
  }
  if (!value.contains("vector_flops_f32")) machine.vector_flops_f32 = machine.peak_flops_f32;
  return machine;
}

}  // namespace smelt::machine

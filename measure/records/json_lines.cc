#include "measure/records/json_lines.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace smelt::measure {
namespace {

using nlohmann::json;

constexpr char kAutoTvm[] = "autotvm";
constexpr double kNoTime = 1e9;  // seconds that AutoTVM writes for a trial without any

// What AutoTVM's error numbers come to (MeasureErrorNo of TVM 0.8).
constexpr Failure kAutoTvmFailures[] = {
    Failure::kNone,           // NO_ERROR
    Failure::kBuildFailed,    // INSTANTIATION_ERROR
    Failure::kBuildFailed,    // COMPILE_HOST
    Failure::kBuildFailed,    // COMPILE_DEVICE
    Failure::kRunCrashed,     // RUNTIME_DEVICE
    Failure::kWrongAnswer,    // WRONG_ANSWER
    Failure::kBuildTimedOut,  // BUILD_TIMEOUT
    Failure::kRunTimedOut,    // RUN_TIMEOUT
    Failure::kRunCrashed,     // UNKNOWN_ERROR
};

// And back; those that AutoTVM does not tell apart become the nearest.
int AutoTvmError(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return 0;
    case Failure::kBuildFailed:
      return 3;
    case Failure::kWrongAnswer:
      return 5;
    case Failure::kBuildTimedOut:
      return 6;
    case Failure::kRunTimedOut:
      return 7;
    case Failure::kRunCrashed:
      return 4;
    default:
      return 8;
  }
}

absl::Status Missing(const char* field, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat("a record's line: `", field, "` is missing or not ", expected));
}

absl::Status ReadText(const json& object, const char* field, std::string* text) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return Missing(field, "a text");
  *text = found->get<std::string>();
  return absl::OkStatus();
}

absl::Status ReadNumber(const json& object, const char* field, double* number) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return Missing(field, "a number");
  *number = found->get<double>();
  return absl::OkStatus();
}

absl::Status ReadNumbers(const json& object, const char* field, std::vector<double>* numbers) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_array()) return Missing(field, "a list of numbers");
  for (const json& one : *found) {
    if (!one.is_number()) return Missing(field, "a list of numbers");
    numbers->push_back(one.get<double>());
  }
  return absl::OkStatus();
}

absl::StatusOr<Record> FromOwn(const json& line) {
  Record record;
  std::string failure;
  double unix_seconds = 0;
  SMELT_RETURN_IF_ERROR(ReadText(line, "subject", &record.key.subject));
  SMELT_RETURN_IF_ERROR(ReadText(line, "target", &record.key.target));
  SMELT_RETURN_IF_ERROR(ReadText(line, "device", &record.key.device));
  SMELT_RETURN_IF_ERROR(ReadText(line, "compiler", &record.key.compiler));
  SMELT_RETURN_IF_ERROR(ReadText(line, "policy", &record.key.policy));
  SMELT_RETURN_IF_ERROR(ReadText(line, "kind", &record.kind));
  SMELT_RETURN_IF_ERROR(ReadText(line, "description", &record.description));
  SMELT_RETURN_IF_ERROR(ReadText(line, "failure", &failure));
  SMELT_RETURN_IF_ERROR(ReadText(line, "message", &record.outcome.message));
  SMELT_RETURN_IF_ERROR(ReadNumbers(line, "seconds", &record.outcome.seconds));
  SMELT_RETURN_IF_ERROR(ReadNumbers(line, "reference_seconds", &record.outcome.reference_seconds));
  SMELT_RETURN_IF_ERROR(ReadNumber(line, "compile_seconds", &record.outcome.compile_seconds));
  SMELT_RETURN_IF_ERROR(ReadNumber(line, "predicted_seconds", &record.predicted_seconds));
  SMELT_RETURN_IF_ERROR(ReadNumber(line, "hardware_seconds", &record.hardware_seconds));
  SMELT_RETURN_IF_ERROR(ReadNumber(line, "unix_seconds", &unix_seconds));
  record.unix_seconds = static_cast<int64_t>(unix_seconds);
  bool known = false;
  for (int i = 0; i <= static_cast<int>(Failure::kEnvironment); ++i) {
    if (FailureName(static_cast<Failure>(i)) != failure) continue;
    record.outcome.failure = static_cast<Failure>(i);
    known = true;
  }
  if (!known) return Missing("failure", "the name of a failure");
  const auto kernels = line.find("kernels");
  if (kernels == line.end() || !kernels->is_array()) return Missing("kernels", "a list");
  for (const json& kernel : *kernels) {
    if (!kernel.is_array() || kernel.size() != 3 || !kernel[0].is_string() || !kernel[1].is_number() ||
        !kernel[2].is_number_integer())
      return Missing("kernels", "a list of [hash, seconds, executions]");
    record.kernels.push_back({kernel[0].get<std::string>(), kernel[1].get<double>(), kernel[2].get<int64_t>()});
  }
  return record;
}

// The word after `-model=` in a target of TVM.
std::string ModelOf(const std::string& target) {
  for (absl::string_view word : absl::StrSplit(target, ' ')) {
    if (absl::StartsWith(word, "-model=")) return std::string(word.substr(7));
  }
  return "unknown";
}

absl::StatusOr<Record> FromAutoTvm(const json& line) {
  const json &input = line["input"], &config = line["config"], &result = line["result"];
  if (!input.is_array() || input.size() < 3 || !input[0].is_string() || !input[1].is_string() || !input[2].is_array())
    return Missing("input", "[target, task, arguments, ..]");
  if (!config.is_object() || !config.contains("entity") || !config["entity"].is_array())
    return Missing("config", "an object with `entity`");
  if (!result.is_array() || result.size() != 4 || !result[0].is_array() || !result[1].is_number_integer() ||
      !result[2].is_number() || !result[3].is_number())
    return Missing("result", "[costs, error, seconds, time]");
  Record record;
  record.kind = kAutoTvm;
  record.key.subject = absl::StrCat(kAutoTvm, " ", input[1].get<std::string>(), " ", JsonText(input[2]), " ",
                                    config.value("index", int64_t{-1}));
  record.key.target = input[0].get<std::string>();
  record.key.device = ModelOf(record.key.target);
  record.key.compiler = absl::StrCat("tvm ", line.value("tvm_version", "unknown"));
  record.key.policy = absl::StrCat("autotvm ", result[0].size(), " costs");
  record.description = JsonText(config["entity"]);
  const int64_t error = result[1].get<int64_t>();
  if (error < 0 || error >= static_cast<int64_t>(std::size(kAutoTvmFailures)))
    return Missing("result", "of an error number of AutoTVM");
  record.outcome.failure = kAutoTvmFailures[error];
  if (record.outcome.ok()) {
    for (const json& cost : result[0]) {
      if (!cost.is_number()) return Missing("result", "a list of seconds");
      record.outcome.seconds.push_back(cost.get<double>());
    }
  } else {
    record.outcome.message = absl::StrCat("error ", error, " ", JsonText(result[0]));
  }
  record.hardware_seconds = result[2].get<double>();
  record.unix_seconds = static_cast<int64_t>(result[3].get<double>());
  return record;
}

}  // namespace

std::string ToJsonLine(const Record& record) {
  json kernels = json::array();
  for (const KernelRecord& kernel : record.kernels) kernels.push_back({kernel.hash, kernel.seconds, kernel.executions});
  const json line{{"subject", record.key.subject},
                  {"target", record.key.target},
                  {"device", record.key.device},
                  {"compiler", record.key.compiler},
                  {"policy", record.key.policy},
                  {"kind", record.kind},
                  {"description", record.description},
                  {"predicted_seconds", record.predicted_seconds},
                  {"failure", std::string(FailureName(record.outcome.failure))},
                  {"message", record.outcome.message},
                  {"seconds", record.outcome.seconds},
                  {"reference_seconds", record.outcome.reference_seconds},
                  {"compile_seconds", record.outcome.compile_seconds},
                  {"hardware_seconds", record.hardware_seconds},
                  {"unix_seconds", record.unix_seconds},
                  {"kernels", std::move(kernels)}};
  // Messages of candidates need not be UTF-8, which JSON is.
  return JsonText(line);
}

absl::StatusOr<Record> FromJsonLine(std::string_view line) {
  const json parsed = ParseJson(line);
  if (!parsed.is_object()) return absl::InvalidArgumentError("a record's line is no JSON object");
  if (parsed.contains("input") && parsed.contains("config") && parsed.contains("result")) return FromAutoTvm(parsed);
  return FromOwn(parsed);
}

absl::StatusOr<std::string> ToAutoTvmLine(const Record& record) {
  json task, arguments = json::array(), entity = json::array();
  int64_t index = -1;
  std::string tvm_version = "smelt";
  if (record.kind == kAutoTvm) {
    // `autotvm TASK ARGUMENTS INDEX`, where the arguments may have spaces in texts.
    const std::string& subject = record.key.subject;
    const size_t first = subject.find(' '), second = subject.find(' ', first + 1), last = subject.rfind(' ');
    if (first == std::string::npos || second == std::string::npos || last <= second)
      return absl::InvalidArgumentError(absl::StrCat("the record `", subject, "` names no task of AutoTVM"));
    task = subject.substr(first + 1, second - first - 1);
    arguments = ParseJson(subject.substr(second + 1, last - second - 1));
    entity = ParseJson(record.description);
    if (!absl::SimpleAtoi(subject.substr(last + 1), &index) || arguments.is_discarded() || entity.is_discarded())
      return absl::InvalidArgumentError(absl::StrCat("the record `", subject, "` is no record of AutoTVM's any more"));
    tvm_version = std::string(absl::StripPrefix(record.key.compiler, "tvm "));
  } else if (record.kind == "schedule") {
    task = "smelt.schedule";
    const std::vector<std::string> words = absl::StrSplit(record.key.subject, ' ');
    arguments.push_back(words.size() > 1 ? words[1] : record.key.subject);
    for (absl::string_view word : absl::StrSplit(record.description, ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> knob = absl::StrSplit(word, absl::MaxSplits('=', 1));
      entity.push_back({knob.first, "ot", knob.second});
    }
  } else {
    return absl::InvalidArgumentError(absl::StrCat("a record of kind `", record.kind,
                                                   "` has no configuration: AutoTVM's log takes records of kind "
                                                   "autotvm and schedule; --kind chooses them"));
  }
  json costs = record.outcome.seconds;
  if (!record.outcome.ok()) costs = json::array({kNoTime});
  const json line{{"input", {record.key.target, task, arguments, json::object()}},
                  {"config", {{"index", index}, {"code_hash", nullptr}, {"entity", entity}}},
                  {"result",
                   {costs, AutoTvmError(record.outcome.failure), record.hardware_seconds,
                    static_cast<double>(record.unix_seconds)}},
                  {"version", 0.2},
                  {"tvm_version", tvm_version}};
  return JsonText(line);
}

}  // namespace smelt::measure

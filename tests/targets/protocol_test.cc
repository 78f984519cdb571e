// Every child speaks the one protocol of measure/protocol.h: the same requests get replies of the same shape, and the
// same failures have the same codes.
#include "measure/protocol.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/parser.h"
#include "measure/worker_process.h"
#include "nlohmann/json.hpp"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/program.h"
#include "targets/xla/python.h"
#include "tests/scratch_folder.h"

namespace smelt {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kDoubled[] = R"(HloModule doubled
ENTRY main {
  x = f32[4,3] parameter(0)
  y = s32[5] parameter(1)
  z = f32[4,3] add(x, x)
  w = s32[5] negate(y)
  ROOT t = (f32[4,3], s32[5]) tuple(z, w)
}
)";

struct Speaker {
  const char* name;
  absl::StatusOr<measure::WorkerOptions> (*options)();
  std::string (*module)(const char* text);  // as its candidates have it
};

absl::StatusOr<measure::WorkerOptions> OwnOptions() {
  return measure::WorkerOptions{.program = SMELT_TOOL, .target = "cpu:threads=1"};
}
std::string OwnModule(const char* text) { return text; }

absl::StatusOr<measure::WorkerOptions> XlaOptions() {
  const char* python = std::getenv("SMELT_JAX_PYTHON");
  return xla::FindXlaWorker({.python = python == nullptr ? "" : python});
}
std::string XlaModule(const char* text) {
  auto module = hlo::ParseModule(text).value();
  xla::ToLoopFusions({}, module.get());
  return xla::XlaCandidate(*module).value().module_text;
}

constexpr Speaker kSpeakers[] = {{"own", OwnOptions, OwnModule}, {"xla", XlaOptions, XlaModule}};

// What keeps `reply` from being like `pattern`, where "" stands for any text, 0 for any number, true for any truth
// value, and a list of one thing for any number of such. A reply may have more fields than the pattern.
std::string Unlike(const json& reply, const json& pattern, const std::string& place = "the reply") {
  const auto wrong = [&] { return absl::StrCat(place, " is ", reply.dump(), ", and not like ", pattern.dump()); };
  if (pattern.is_object()) {
    if (!reply.is_object()) return wrong();
    for (const auto& [key, value] : pattern.items()) {
      if (!reply.contains(key)) return absl::StrCat(place, " has no `", key, "`: ", reply.dump());
      if (std::string why = Unlike(reply[key], value, absl::StrCat(place, ".", key)); !why.empty()) return why;
    }
    return "";
  }
  if (pattern.is_array()) {
    if (!reply.is_array()) return wrong();
    for (const json& item : reply) {
      if (std::string why = Unlike(item, pattern[0], absl::StrCat(place, "[]")); !why.empty()) return why;
    }
    return "";
  }
  const bool alike = pattern.is_string()   ? reply.is_string()
                     : pattern.is_number() ? reply.is_number()
                                           : reply.type() == pattern.type();
  return alike ? "" : wrong();
}

class Protocol : public ::testing::TestWithParam<Speaker> {
 protected:
  void SetUp() override {
    const absl::StatusOr<measure::WorkerOptions> options = GetParam().options();
    if (!options.ok()) GTEST_SKIP() << options.status().message();
    auto started = measure::WorkerProcess::Start(*options);
    ASSERT_TRUE(started.ok()) << started.status();
    device_ = *std::move(started);
  }

  json Ask(const json& request) {
    const absl::StatusOr<json> reply = device_->Call(request, 60);
    EXPECT_TRUE(reply.ok()) << request.dump() << ": " << reply.status();
    return reply.ok() ? *reply : json::object();
  }
  json AskLike(const json& request, const char* pattern) {
    json reply = Ask(request);
    EXPECT_EQ(Unlike(reply, json::parse(pattern)), "") << request.dump();
    return reply;
  }
  // The reply to a request that must fail with this code.
  std::string Refused(const json& request, absl::StatusCode code, bool building) {
    const json reply = AskLike(request, R"({"error": "", "build": true, "code": 0})");
    EXPECT_EQ(measure::ErrorOf(reply).code(), code) << reply.dump();
    EXPECT_EQ(reply.value("build", !building), building) << reply.dump();
    return reply.value("error", "");
  }
  json LoadRequest() const { return {{"do", "load"}, {"module", GetParam().module(kDoubled)}}; }
  std::string Path(const char* name) const { return folder_.In(name); }

  const ScratchFolder folder_;
  std::unique_ptr<measure::Device> device_;
};

constexpr char kLoaded[] = R"({"id": 0, "compile_seconds": 0,
    "kernels": [{"name": "", "hash": "", "tile": "", "opaque": true, "flops": 0, "bytes": 0}]})";
constexpr char kTimes[] = R"({"seconds": [[0]]})";

TEST_P(Protocol, SaysWhichVersionItSpeaks) {
  const json hello = AskLike({{"do", "hello"}}, R"({"protocol": 0, "pid": 0})");
  EXPECT_EQ(hello["protocol"], measure::kProtocolVersion);
  EXPECT_TRUE(measure::CheckVersion(hello).ok());
}

TEST_P(Protocol, LoadsTimesAndUnloadsPrograms) {
  const json one = AskLike(LoadRequest(), kLoaded), other = AskLike(LoadRequest(), kLoaded);
  ASSERT_NE(one["id"], other["id"]);
  const json times =
      AskLike({{"do", "time"}, {"ids", {one["id"], other["id"]}}, {"rounds", 4}, {"seconds", 5}}, kTimes);
  ASSERT_EQ(times["seconds"].size(), 2u);
  for (const json& samples : times["seconds"]) {
    EXPECT_EQ(samples.size(), 4u);
    for (const json& sample : samples) EXPECT_GT(sample.get<double>(), 0);
  }
  const json least =
      AskLike({{"do", "time"}, {"ids", {one["id"], other["id"]}}, {"rounds", 50}, {"seconds", 0}}, kTimes);
  for (const json& samples : least["seconds"]) EXPECT_EQ(samples.size(), 3u);  // in any case
  const json kernels = AskLike({{"do", "kernel_seconds"}, {"id", one["id"]}, {"rounds", 2}},
                               R"({"seconds": [0], "median": [0], "executions": [0]})");
  for (const char* list : {"seconds", "median", "executions"})
    EXPECT_EQ(kernels[list].size(), one["kernels"].size()) << list;
  EXPECT_EQ(Ask({{"do", "unload"}, {"id", one["id"]}}), json::object());
  EXPECT_EQ(Ask({{"do", "unload"}, {"id", one["id"]}}), json::object());  // again
  EXPECT_THAT(Refused({{"do", "time"}, {"ids", {one["id"]}}, {"rounds", 3}, {"seconds", 1}},
                      absl::StatusCode::kNotFound, false),
              HasSubstr(absl::StrCat("no program ", one["id"].dump(), " is loaded")));
  AskLike({{"do", "time"}, {"ids", {other["id"]}}, {"rounds", 3}, {"seconds", 1}}, kTimes);
}

TEST_P(Protocol, RunsOnTheInputsOfAFileAndWritesItsResults) {
  const hlo::Shape shapes[] = {hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 3}),
                               hlo::Shape::Array(hlo::PrimitiveType::kS32, {5})};
  hlo::SafetensorsFile inputs;
  for (int i = 0; i < 2; ++i)
    inputs.tensors.push_back(
        {absl::StrCat("in.", i), hlo::MakeInput(shapes[i], i, {-50, 50}, {.first_stream = 9}).value()});
  ASSERT_TRUE(hlo::WriteSafetensors(Path("inputs"), inputs).ok());
  json request = LoadRequest();
  request["inputs_file"] = Path("inputs");
  const json loaded = AskLike(request, kLoaded);
  EXPECT_EQ(Ask({{"do", "outputs"}, {"id", loaded["id"]}, {"file", Path("outputs")}}), json::object());
  const auto outputs = hlo::ReadSafetensors(Path("outputs"));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->tensors.size(), 2u);
  const hlo::Literal *doubled = outputs->Find("out.0"), *negated = outputs->Find("out.1");
  ASSERT_TRUE(doubled != nullptr && negated != nullptr);
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(doubled->GetDouble(i), 2 * inputs.tensors[0].literal.GetDouble(i));
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(negated->GetDouble(i), -inputs.tensors[1].literal.GetDouble(i));

  inputs.tensors.pop_back();
  ASSERT_TRUE(hlo::WriteSafetensors(Path("inputs"), inputs).ok());
  EXPECT_THAT(Refused(request, absl::StatusCode::kUnavailable, false),
              HasSubstr("has 1 inputs (in.0, in.1, ...), and the parameters have 2 arrays"));
  inputs.tensors.push_back({"in.1", inputs.tensors[0].literal});
  ASSERT_TRUE(hlo::WriteSafetensors(Path("inputs"), inputs).ok());
  EXPECT_THAT(Refused(request, absl::StatusCode::kUnavailable, false), HasSubstr("input `in.1`: expected"));
  std::ofstream(Path("inputs")) << "torn";
  EXPECT_THAT(Refused(request, absl::StatusCode::kUnavailable, false), HasSubstr("not a complete safetensors file"));
  std::filesystem::remove(Path("inputs"));
  EXPECT_THAT(Refused(request, absl::StatusCode::kUnavailable, false), HasSubstr("inputs: "));
}

TEST_P(Protocol, RefusesWithTheSameCodes) {
  EXPECT_EQ(Refused({{"do", "fly"}}, absl::StatusCode::kInvalidArgument, false), "unknown request `fly`");
  EXPECT_EQ(Refused({{"do", "kernel_seconds"}, {"id", 7}}, absl::StatusCode::kNotFound, false),
            "no program 7 is loaded");
  EXPECT_EQ(Refused({{"do", "outputs"}, {"id", 7}, {"file", Path("f")}}, absl::StatusCode::kNotFound, false),
            "no program 7 is loaded");
  EXPECT_EQ(Refused({{"do", "inject"}, {"fault", "rust"}}, absl::StatusCode::kInvalidArgument, false),
            "unknown fault `rust`");
  const json broken =
      AskLike({{"do", "load"}, {"module", "HloModule broken\nENTRY {"}}, R"({"error": "", "build": true, "code": 0})");
  EXPECT_TRUE(broken.value("build", false)) << broken.dump();
  const json loaded = AskLike(LoadRequest(), kLoaded);
  EXPECT_THAT(Refused({{"do", "outputs"}, {"id", loaded["id"]}, {"file", Path("no-folder/outputs")}},
                      absl::StatusCode::kUnavailable, false),
              HasSubstr("No such file or directory"));
}

TEST_P(Protocol, ACrashEndsTheDevice) {
  AskLike(LoadRequest(), kLoaded);
  const absl::Status crashed = device_->Call({{"do", "inject"}, {"fault", "crash"}}, 60).status();
  EXPECT_EQ(crashed.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(crashed.message()), HasSubstr("signal 6"));
  EXPECT_FALSE(device_->alive());
}

INSTANTIATE_TEST_SUITE_P(EveryChild, Protocol, ::testing::ValuesIn(kSpeakers),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace smelt

#include "measure/records/json_lines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {
namespace {

using ::testing::HasSubstr;

Record ScheduleRecord() {
  Record record;
  record.key = {"schedule 0123 4567", "cpu:znver5,threads=1", "a \"device\"", "llvm 19", "repeats=5"};
  record.kind = "schedule";
  record.description = "i0=4x1x8 r0=1x64x1";
  record.predicted_seconds = 1.5e-5;
  record.outcome = {.message = "all\nis well",
                    .seconds = {1e-5, 1.25e-5},
                    .reference_seconds = {2e-5, 2.5e-5},
                    .compile_seconds = 0.25};
  record.kernels = {{"0123", 1e-5, 7}};
  record.hardware_seconds = 0.5;
  record.unix_seconds = 1700000000;
  return record;
}

// A line as TVM 0.8 writes it.
constexpr const char* kLine =
    R"({"input": ["llvm -keys=cpu -mcpu=skylake-avx512 -model=platinum-8124m", "dense_nopack.x86", )"
    R"([["TENSOR", [1, 768], "float32"], ["TENSOR", [768, 768], "float32"], null, "float32"], {}], )"
    R"("config": {"index": 129, "code_hash": null, "entity": [["tile_y", "sp", [-1, 1]], ["tile_x", "sp", [-1, 4]]]}, )"
    R"("result": [[3.431114707461084e-05], 0, 2.35520076751709, 1610455202.0], "version": 0.2, "tvm_version": "0.8.dev0"})";

TEST(JsonLines, GiveARecordBackAsItWas) {
  const Record record = ScheduleRecord();
  const std::string line = ToJsonLine(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Record again = FromJsonLine(line).value();
  EXPECT_EQ(again.key, record.key);
  EXPECT_EQ(again.outcome.seconds, record.outcome.seconds);
  EXPECT_EQ(again.unix_seconds, record.unix_seconds);
  EXPECT_EQ(ToJsonLine(again), line);
}

TEST(JsonLines, KeepEveryFailure) {
  for (int i = 0; i <= static_cast<int>(Failure::kEnvironment); ++i) {
    Record record = ScheduleRecord();
    record.outcome.failure = static_cast<Failure>(i);
    EXPECT_EQ(FromJsonLine(ToJsonLine(record)).value().outcome.failure, record.outcome.failure);
  }
}

TEST(JsonLines, ReadTheLogOfAutoTvmAndWriteItBack) {
  const Record record = FromJsonLine(kLine).value();
  EXPECT_EQ(record.kind, "autotvm");
  EXPECT_EQ(record.key.device, "platinum-8124m");
  EXPECT_THAT(record.key.subject, HasSubstr("dense_nopack.x86"));
  ASSERT_TRUE(record.outcome.ok());
  EXPECT_DOUBLE_EQ(record.outcome.best(), 3.431114707461084e-05);
  EXPECT_EQ(nlohmann::json::parse(ToAutoTvmLine(record).value()), nlohmann::json::parse(kLine));
}

TEST(JsonLines, ReadFailuresOfAutoTvm) {
  nlohmann::json line = nlohmann::json::parse(kLine);
  const std::pair<int, Failure> cases[] = {{1, Failure::kBuildFailed},
                                           {4, Failure::kRunCrashed},
                                           {5, Failure::kWrongAnswer},
                                           {6, Failure::kBuildTimedOut},
                                           {7, Failure::kRunTimedOut}};
  for (const auto& [number, failure] : cases) {
    line["result"] = {{1e9}, number, 10.0, 1.0};
    const Record record = FromJsonLine(line.dump()).value();
    EXPECT_EQ(record.outcome.failure, failure) << number;
    EXPECT_TRUE(record.outcome.seconds.empty());
    const nlohmann::json back = nlohmann::json::parse(ToAutoTvmLine(record).value());
    EXPECT_EQ(FailureName(FromJsonLine(back.dump()).value().outcome.failure), FailureName(failure));
  }
}

TEST(JsonLines, WriteSchedulesOfOursAsALogOfAutoTvm) {
  const nlohmann::json line = nlohmann::json::parse(ToAutoTvmLine(ScheduleRecord()).value());
  EXPECT_EQ(line["input"][1], "smelt.schedule");
  EXPECT_EQ(line["config"]["entity"].size(), 2u);
  EXPECT_EQ(line["config"]["entity"][0][0], "i0");
  EXPECT_EQ(line["result"][0].size(), 2u);
}

TEST(JsonLines, NameWhatIsMissing) {
  EXPECT_THAT(FromJsonLine("[]").status().message(), HasSubstr("no JSON object"));
  nlohmann::json line = nlohmann::json::parse(ToJsonLine(ScheduleRecord()));
  for (const char* field : {"subject", "seconds", "failure", "kernels", "unix_seconds"}) {
    nlohmann::json without = line, wrong = line;
    without.erase(field);
    wrong[field] = nlohmann::json::object();
    EXPECT_THAT(FromJsonLine(without.dump()).status().message(), HasSubstr(field));
    EXPECT_THAT(FromJsonLine(wrong.dump()).status().message(), HasSubstr(field));
  }
  for (const char* field : {"input", "config", "result"}) {
    nlohmann::json wrong = nlohmann::json::parse(kLine);
    wrong[field] = "x";
    EXPECT_THAT(FromJsonLine(wrong.dump()).status().message(), HasSubstr(field));
  }
  Record program = ScheduleRecord();
  program.kind = "program";
  EXPECT_THAT(ToAutoTvmLine(program).status().message(), HasSubstr("--kind"));
}

}  // namespace
}  // namespace smelt::measure

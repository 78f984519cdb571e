// --target and --threads say one thing in every verb that has both.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;

const std::string kModel = std::string(SMELT_SOURCE_DIR) + "/models/dqn.hlo";

TEST(TargetFlags, ThreadsMayStandInTheTarget) {
  const ToolResult run = RunTool({"bench", kModel, "--target=cpu:threads=1", "--fusion=none", "--repeat=1", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["threads"], 1);
}

TEST(TargetFlags, TwoNumbersOfThreadsAreRefused) {
  for (const char* verb : {"bench", "tune"}) {
    std::vector<std::string> words = {verb, kModel, "--target=xla:threads=2", "--threads=1"};
    if (words[0] == "tune") words.push_back("--out=unused");
    const ToolResult run = RunTool(words);
    EXPECT_EQ(run.exit_code, 2) << verb;
    EXPECT_THAT(run.err, HasSubstr("--target=xla:threads=2 and --threads=1 say different numbers of threads")) << verb;
  }
}

TEST(TargetFlags, AnUnknownTargetIsNamedWithThoseThatThereAre) {
  const ToolResult run = RunTool({"tune", kModel, "--target=tpu", "--out=unused"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("target `tpu`: expected cpu, cpu:threads=N or cpu:CPU,threads=N; "));
}

}  // namespace
}  // namespace smelt::cli

// `smelt train` from outside: a training that survives kills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = FreshFolder("train");
    WriteFile(folder_ / "program.hlo", SmallProgram());
    const ToolResult profiled = RunTool({"profile", (folder_ / "program.hlo").string(), "-o",
                                         (folder_ / "corpus").string(), "--configs=30", "--kernels=60"});
    ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  }
  std::vector<std::string> Words(const std::string& output, int epochs) const {
    // One program cannot be split by program: everything is trained on.
    return {"train",
            (folder_ / "corpus").string(),
            "-o",
            (folder_ / output).string(),
            "--task=fusion",
            "--validation=0",
            "--test=0",
            "--hidden=32",
            "--layers=1",
            "--threads=1",
            "--patience=100000",
            "--epochs=" + std::to_string(epochs)};
  }
  fs::path Checkpoint(const std::string& output) const { return folder_ / (output + ".fusion.checkpoint"); }

  fs::path folder_;
};

TEST_F(TrainTest, KilledItGoesOnFromItsCheckpointToTheSameModel) {
  constexpr int kEpochs = 60;
  const ToolResult unbroken = RunTool(Words("unbroken.smeltmodel", kEpochs));
  ASSERT_EQ(unbroken.exit_code, 0) << unbroken.err;
  for (int kill = 0; kill < 3; ++kill) {
    Tool tool = Tool::Start(Words("killed.smeltmodel", kEpochs));
    // After its first checkpoint, or the next after a resumption.
    std::error_code error;
    const fs::file_time_type before = fs::last_write_time(Checkpoint("killed.smeltmodel"), error);
    while (tool.Running() && fs::last_write_time(Checkpoint("killed.smeltmodel"), error) == before) ::usleep(2000);
    tool.Signal(SIGKILL);
    tool.Wait();
  }
  const ToolResult last = RunTool(Words("killed.smeltmodel", kEpochs));
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_THAT(last.err, HasSubstr("went on from epoch"));
  EXPECT_TRUE(ReadFile(folder_ / "killed.smeltmodel") == ReadFile(folder_ / "unbroken.smeltmodel"));
  EXPECT_FALSE(fs::exists(Checkpoint("killed.smeltmodel")));
}

TEST_F(TrainTest, InterruptedItSaysSoAndKeepsModelAndCheckpoint) {
  Tool tool = Tool::Start(Words("stopped.smeltmodel", 100000));
  while (tool.Running() && !fs::exists(Checkpoint("stopped.smeltmodel"))) ::usleep(2000);
  tool.Signal(SIGTERM);
  const ToolResult result = tool.Wait();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted by SIGTERM: " + (folder_ / "stopped.smeltmodel").string()));
  EXPECT_TRUE(fs::exists(folder_ / "stopped.smeltmodel"));
  EXPECT_TRUE(fs::exists(Checkpoint("stopped.smeltmodel")));
}

TEST_F(TrainTest, OneProgramIsEvaluatedWholeWithAWord) {
  ASSERT_EQ(RunTool(Words("one.smeltmodel", 1)).exit_code, 0);
  const ToolResult result =
      RunTool({"eval", (folder_ / "one.smeltmodel").string(), (folder_ / "corpus").string(), "--test=0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("none of its programs (1) is new to the models"));
  EXPECT_THAT(result.out, HasSubstr("graphsage"));
  // A corpus of programs that it did not learn from judges it whole.
  fs::copy(SMELT_SOURCE_DIR "/models/dqn.hlo", folder_ / "other.hlo");
  const ToolResult profiled = RunTool({"profile", (folder_ / "other.hlo").string(), "-o", (folder_ / "others").string(),
                                       "--configs=2", "--kernels=20"});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  const ToolResult others =
      RunTool({"eval", (folder_ / "one.smeltmodel").string(), (folder_ / "others").string(), "--test=0.1", "--json"});
  EXPECT_EQ(others.exit_code, 0);
  EXPECT_EQ(others.err, "");
  EXPECT_GE(others.json()["kernels"].get<int>(), 10);
}

// Models that differ in their seed alone are judged on the same programs: their spread is the seed's.
TEST_F(TrainTest, TheSeedOfTheSplitAloneDecidesWhatIsHeldOut) {
  const auto held_out = [&](const std::string& seed) {
    const ToolResult result =
        RunTool({"train", (folder_ / "corpus").string(), "-o", (folder_ / "m.smeltmodel").string(), "--task=fusion",
                 "--hidden=8", "--layers=0", "--threads=1", "--epochs=1", "--test=0.5", "--restart", seed});
    const size_t counts = result.err.find(" programs: ");
    return result.err.substr(counts, result.err.find('\n', counts) - counts);
  };
  std::set<std::string> by_seed, by_split;
  for (int seed = 1; seed <= 8; ++seed) {
    by_seed.insert(held_out("--seed=" + std::to_string(seed)));
    by_split.insert(held_out("--split-seed=" + std::to_string(seed)));
  }
  EXPECT_THAT(by_seed, ::testing::ElementsAre(HasSubstr("to train")));
  EXPECT_GT(by_split.size(), 1u);
}

// Two sizes of one program are a family: neither judges a model that learned from the other.
TEST_F(TrainTest, WhatIsHeldOutIsLikeNothingLearnedFrom) {
  WriteFile(folder_ / "twin.hlo", SmallProgram());
  fs::copy(SMELT_SOURCE_DIR "/models/dqn.hlo", folder_ / "dqn.hlo");
  const std::string corpus = (folder_ / "three").string(), model = (folder_ / "m.smeltmodel").string();
  const ToolResult profiled =
      RunTool({"profile", (folder_ / "program.hlo").string(), (folder_ / "twin.hlo").string(),
               (folder_ / "dqn.hlo").string(), "-o", corpus, "--task=fusion", "--configs=4", "--kernels=20"});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.err;
  const std::vector<std::string> words = {"train",         corpus,           "-o",         model,
                                          "--task=fusion", "--hidden=8",     "--layers=0", "--epochs=1",
                                          "--threads=1",   "--validation=0", "--test=0.5", "--split=least-similar"};
  const ToolResult trained = RunTool(words);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::string kernels = (folder_ / "kernels.csv").string();
  const ToolResult judged = RunTool({"eval", model, corpus, "--boosted", "--json", "--kernels=" + kernels});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  std::vector<std::string> names;
  const nlohmann::json table = judged.json();
  for (const auto& contender : table.at("contenders")) {
    names.push_back(contender["name"]);
    for (const char* size : {"large", "small"}) {
      for (const auto& [program, error] : contender[size].items()) EXPECT_EQ(program, "dqn") << names.back();
    }
  }
  EXPECT_THAT(names, ::testing::ElementsAre("graphsage", "boosted", "analytical", "default"));
  EXPECT_THAT(ReadFile(kernels),
              ::testing::StartsWith("program,kernel,kind,nodes,seconds,graphsage,boosted,analytical\ndqn,"));
  // Where all are one family, there is none.
  std::vector<std::string> alone = words;
  alone[1] = (folder_ / "corpus").string();
  const ToolResult refused = RunTool(alone);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("are of one family"));
  // Nothing to be held out is nothing to choose.
  std::replace(alone.begin(), alone.end(), std::string("--test=0.5"), std::string("--test=0"));
  const ToolResult all = RunTool(alone);
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, HasSubstr(" 0 held out"));
}

TEST_F(TrainTest, ItGoesOnFromAGivenModel) {
  ASSERT_EQ(RunTool(Words("first.smeltmodel", 5)).exit_code, 0);
  std::vector<std::string> words = Words("second.smeltmodel", 5);
  words.push_back("--init=" + (folder_ / "first.smeltmodel").string());
  const ToolResult second = RunTool(words);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr("a given model, further"));
  std::replace(words.begin(), words.end(), std::string("--task=fusion"), std::string("--task=tile"));
  const ToolResult no_tiles = RunTool(words);
  EXPECT_EQ(no_tiles.exit_code, 1);
  EXPECT_THAT(no_tiles.err, HasSubstr("has no network for the tile task"));
}

TEST_F(TrainTest, ATornCheckpointIsOneClearError) {
  WriteFile(Checkpoint("model"), "PK no archive");
  const ToolResult result = RunTool(Words("model", 2));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("model.fusion.checkpoint: is no whole checkpoint"));
}

TEST_F(TrainTest, OnAFullDiskItSaysSoAndTheLastModelStays) {
  ASSERT_EQ(RunTool(Words("model", 1)).exit_code, 0);
  const std::string before = ReadFile(folder_ / "model");
  const ToolResult full = RunTool(Words("model", 3), {.file_size_limit = 3000});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot be written"));
  EXPECT_TRUE(ReadFile(folder_ / "model") == before);
}

}  // namespace
}  // namespace smelt::cli

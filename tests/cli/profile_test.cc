// `smelt profile` from outside: corpora that survive kills and full disks.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gnn/corpus/corpus.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    WriteFile(folder_ / "small.hlo", SmallProgram());
    WriteFile(folder_ / "other.hlo", OtherProgram());
  }
  ~ProfileTest() override { fs::remove_all(folder_); }

  std::vector<std::string> Words(const std::vector<std::string>& more = {}, int visits = 1) const {
    std::vector<std::string> words = {"profile",
                                      (folder_ / "small.hlo").string(),
                                      (folder_ / "other.hlo").string(),
                                      "-o",
                                      (folder_ / "corpus").string(),
                                      "--json",
                                      absl::StrCat("--visits=", visits)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Hashes in the corpus; each must be there once.
  std::set<std::string> Hashes(std::vector<std::string>* warnings = nullptr) const {
    std::set<std::string> hashes;
    if (!fs::exists(folder_ / "corpus")) return hashes;
    auto report = gnn::ReadCorpus((folder_ / "corpus").string(), [&](gnn::KernelExample example) {
      EXPECT_TRUE(hashes.insert(example.hash.ToHex()).second) << "twice: " << example.hash.ToHex();
      return absl::OkStatus();
    });
    EXPECT_TRUE(report.ok()) << report.status();
    if (report.ok() && warnings != nullptr) *warnings = report->warnings;
    return hashes;
  }

  fs::path folder_;
};

TEST_F(ProfileTest, RecordsEveryKernelOnceWithItsRepeatsAndWhereItComesFrom) {
  const ToolResult result = RunTool(Words({"--configs=20"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> programs;
  int64_t examples = 0;
  auto report = gnn::ReadCorpus((folder_ / "corpus").string(), [&](gnn::KernelExample example) {
    ++examples;
    programs.insert(example.program);
    EXPECT_EQ(example.measurements.size(), 1u);
    for (const gnn::Measurement& measurement : example.measurements) {
      EXPECT_TRUE(measurement.error.empty()) << measurement.error;
      EXPECT_GE(measurement.seconds.size(), 3u);
      EXPECT_TRUE(measurement.default_tile);
    }
    EXPECT_THAT(example.kernel_text, HasSubstr("ENTRY"));
    return absl::OkStatus();
  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(programs, (std::set<std::string>{"small", "other"}));
  EXPECT_EQ(result.json()["kernels"], examples);
  EXPECT_GT(examples, 15);
}

TEST_F(ProfileTest, EveryKernelIsVisitedInTwoProcessesAndSaysWhereItComesFrom) {
  const ToolResult result = RunTool(Words({"--configs=6"}, 2));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::set<std::string>> processes;  // by hash
  std::set<std::string> provenances;
  auto report = gnn::ReadCorpus((folder_ / "corpus").string(), [&](gnn::KernelExample example) {
    processes[example.hash.ToHex()].insert(example.placement.substr(0, example.placement.find(',')));
    provenances.insert(example.provenance.substr(0, example.provenance.find(':')));
    EXPECT_THAT(example.machine, HasSubstr("\"levels\":"));
    EXPECT_GT(example.unix_seconds, 1700000000);
    EXPECT_EQ(example.measurements[0].reference_seconds.size(), 2u);
    return absl::OkStatus();
  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(result.json()["kernels"], processes.size());
  EXPECT_EQ(result.json()["visits"], report->examples);
  EXPECT_GE(report->examples, 2 * static_cast<int64_t>(processes.size()));
  for (const auto& [hash, of_kernel] : processes) EXPECT_GE(of_kernel.size(), 2u) << hash;
  EXPECT_THAT(provenances, IsSupersetOf({"heuristic", "random", "walk", "variant"}));
  // The same command finds nothing left to do.
  EXPECT_EQ(RunTool(Words({"--configs=6"}, 2)).json()["visits"], 0);
}

TEST_F(ProfileTest, ATileCorpusHasSeveralTilesOfEachKernelTheDefaultFirst) {
  const ToolResult result = RunTool(Words({"--task=tile", "--tiles=5"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  int64_t examples = 0;
  auto report = gnn::ReadCorpus((folder_ / "corpus").string(), [&](gnn::KernelExample example) {
    ++examples;
    EXPECT_GE(example.measurements.size(), 2u);
    EXPECT_LE(example.measurements.size(), 5u);
    EXPECT_TRUE(example.measurements[0].default_tile);
    return absl::OkStatus();
  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(examples, 0);
}

TEST_F(ProfileTest, KilledAtAnyMomentItLosesNothingThatWasWrittenAndGoesOn) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::set<std::string> before;
  for (int kill = 0; kill < 4; ++kill) {
    Tool tool = Tool::Start(Words({"--configs=60", "--kernels=100000"}));
    ::usleep(200000 + random() % 2500000);
    tool.Signal(SIGKILL);
    const ToolResult killed = tool.Wait();
    EXPECT_TRUE(killed.signal == SIGKILL || killed.exit_code == 0) << killed.err;  // it may have been done before
    const std::set<std::string> now = Hashes();
    EXPECT_THAT(now, IsSupersetOf(before));
    before = now;
  }
  const ToolResult result = RunTool(Words({"--configs=10"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["known"].get<size_t>(), before.size());
  EXPECT_THAT(Hashes(), IsSupersetOf(before));
}

TEST_F(ProfileTest, InterruptedItEndsSoonAndSaysThatItGoesOn) {
  Tool tool = Tool::Start(Words({"--configs=60", "--kernels=100000"}));
  // Once it writes it listens.
  while (tool.Running() && !fs::exists(folder_ / "corpus")) ::usleep(10000);
  ::usleep(500000);
  tool.Signal(SIGHUP);
  const ToolResult result = tool.Wait();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted by SIGTERM"));
  EXPECT_EQ(result.json()["interrupted"], true);
}

TEST_F(ProfileTest, ATornCorpusGoesOnAfterItsLastWholeRecord) {
  ASSERT_EQ(RunTool(Words({"--configs=5"})).exit_code, 0);
  const std::set<std::string> all = Hashes();
  fs::path shard;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "corpus")) shard = entry.path();
  fs::resize_file(shard, fs::file_size(shard) - 7);
  std::vector<std::string> warnings;
  EXPECT_EQ(Hashes(&warnings).size(), all.size() - 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr(shard.filename().string()));
  const ToolResult result = RunTool(Words({"--configs=5"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Hashes(&warnings), all);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ProfileTest, OnAFullDiskItSaysSoAndTheCorpusStaysReadable) {
  const ToolResult full =
      RunTool(Words({"--configs=200", "--cache=" + (folder_ / "cache").string()}), {.file_size_limit = 20000});
  EXPECT_NE(full.exit_code, 0);
  EXPECT_THAT(full.err, HasSubstr("corpus"));
  const std::set<std::string> before = Hashes();
  EXPECT_FALSE(before.empty());
  const ToolResult result = RunTool(Words({"--configs=5"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Hashes(), IsSupersetOf(before));
}

TEST_F(ProfileTest, KernelsThatXlaCompilesAreTimedOnceAndGoneOnFrom) {
  const char* python = std::getenv("SMELT_JAX_PYTHON");
  std::vector<std::string> words = {"profile",      (folder_ / "small.hlo").string(),
                                    "-o",           (folder_ / "xla").string(),
                                    "--target=xla", "--configs=2",
                                    "--kernels=6",  "--json",
                                    "--visits=1"};
  if (python != nullptr) words.push_back(std::string("--python=") + python);
  const ToolResult first = RunTool(words);
  if (first.err.find("needs a Python") != std::string::npos) GTEST_SKIP() << first.err;
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto one = nlohmann::json::parse(first.out);
  EXPECT_GT(one["kernels"], 2);
  EXPECT_EQ(one["failed"], 0);
  EXPECT_GT(one["floor_us"], 0);
  EXPECT_LT(one["floor_us"], 5);
  const auto two = nlohmann::json::parse(RunTool(words).out);
  EXPECT_EQ(two["known"], one["kernels"]);
  words.push_back("--task=tile");
  const ToolResult tiles = RunTool(words);
  EXPECT_EQ(tiles.exit_code, 1);
  EXPECT_THAT(tiles.err, HasSubstr("kernels of --target=xla have no tiles: it profiles --task=fusion"));
}

}  // namespace
}  // namespace smelt::cli

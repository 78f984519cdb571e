// `smelt tune` from outside: what it prints and writes, and what happens when it is stopped in any way.
#include <signal.h>
#include <unistd.h>

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "measure/records/records.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    WriteFile(folder_ / "small.hlo", SmallProgram());
  }
  ~TuneTest() override { fs::remove_all(folder_); }

  std::vector<std::string> Words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"tune",
                                      (folder_ / "small.hlo").string(),
                                      "--out=" + (folder_ / "run").string(),
                                      "--json",
                                      "--model=analytical",
                                      "--moves=400",
                                      "--chains=2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Subjects of the trials that the records hold.
  std::set<std::string> Subjects() const {
    std::set<std::string> subjects;
    auto records = measure::Records::Open((folder_ / "run" / "records.db").string());
    EXPECT_TRUE(records.ok()) << records.status();
    if (!records.ok()) return subjects;
    auto all = (*records)->All();
    EXPECT_TRUE(all.ok()) << all.status();
    if (all.ok()) {
      for (const measure::Record& record : *all) subjects.insert(record.key.subject);
    }
    return subjects;
  }

  fs::path folder_;
};

TEST_F(TuneTest, PrintsTheFiguresOfTheContractAndWritesAnAnswerThatReplays) {
  const ToolResult result = RunTool(Words({"--budget=20", "--hardware-seconds=2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("tuning takes about 20 s"));
  EXPECT_THAT(result.err, ContainsRegex("about 20 s: [0-9.]+ s preparing, [0-9.]+ s searching, [0-9.]+ s comparing"));
  const nlohmann::json json = result.json();
  ASSERT_TRUE(json.is_object()) << result.out;
  for (const char* key : {"default_ms", "best_ms", "speedup", "moves", "moves_per_second", "measured",
                          "hardware_seconds", "wall_seconds"})
    EXPECT_TRUE(json[key].is_number() && json[key].get<double>() > 0) << key << ": " << json[key];
  EXPECT_EQ(json["verified"], true);
  EXPECT_LE(json["best_ms"].get<double>(), json["default_ms"].get<double>());
  EXPECT_GE(json["speedup"].get<double>(), 1.0);
  double phases = 0;
  for (const char* phase : {"preparing", "searching", "comparing", "verifying"})
    phases += json["phase_seconds"].value(phase, -1e9);
  EXPECT_NEAR(phases, json["wall_seconds"].get<double>(), 0.01);
  // The gain that is shown is the one that decided.
  if (json["improved"].get<bool>()) {
    EXPECT_GT(json["interval"][0].get<double>(), 1.0);
    EXPECT_LT(json["interval"][0].get<double>(), json["speedup"].get<double>());
    EXPECT_GT(json["interval"][1].get<double>(), json["speedup"].get<double>());
  }
  for (const char* file : {"best.fusion.json", "fused.hlo", "records.db", "report.txt", "log.txt"})
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  EXPECT_EQ(RunTool({"inspect", (folder_ / "run" / "fused.hlo").string()}).exit_code, 0);
  const ToolResult replayed = RunTool({"run", (folder_ / "small.hlo").string(),
                                       "--fusion=" + (folder_ / "run" / "best.fusion.json").string(), "--check"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("ok"));
}

TEST_F(TuneTest, StartsFromNoFusionAndFromRandomAndSearchesWithMeasurementsAlone) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--start=none"}, {"--start=random"}, {"--mode=hardware"}}) {
    fs::remove_all(folder_ / "run");
    std::vector<std::string> words = more;
    words.push_back("--hardware-seconds=1");
    const ToolResult result = RunTool(Words(words));
    ASSERT_EQ(result.exit_code, 0) << more[0] << ": " << result.err;
    EXPECT_EQ(result.json()["verified"], true) << more[0];
    EXPECT_GE(result.json()["speedup"].get<double>(), 1.0) << more[0];
    // How soon it found what it found; timing the default before it is no part of the search.
    const nlohmann::json found = result.json()["found"];
    ASSERT_FALSE(found.empty()) << more[0] << ": " << result.out;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_GT(found[i]["hardware_seconds"].get<double>(), 0) << found;
      EXPECT_LE(found[i]["hardware_seconds"].get<double>(), result.json()["hardware_seconds"].get<double>()) << found;
      if (i == 0) continue;
      EXPECT_GE(found[i]["hardware_seconds"], found[i - 1]["hardware_seconds"]) << found;
      EXPECT_LT(found[i]["relative"], found[i - 1]["relative"]) << found;
    }
  }
}

TEST_F(TuneTest, WithoutTimeToMeasureTheDefaultThatIsTheAnswerInOneLine) {
  const ToolResult result = RunTool(Words({"--budget=0.01"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "run" / "best.fusion.json"));
  const std::string report = ReadFile(folder_ / "run" / "report.txt");
  EXPECT_THAT(report, HasSubstr("0.01 s are too short to measure even the default. The default is the answer\n"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("moves")));
}

TEST_F(TuneTest, AConfigurationForCallsFromXlasProgramIsOfItsRules) {
  const ToolResult result = RunTool(Words({"--budget=0.01", "--target=embed"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ReadFile(folder_ / "run" / "best.fusion.json"), HasSubstr("\"target\": \"xla:"));
}

TEST_F(TuneTest, KilledAtAnyMomentItLosesNoTrialThatItLoggedAndGoesOn) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::set<std::string> before;
  for (int kill = 0; kill < 4; ++kill) {
    Tool tool = Tool::Start(Words({"--budget=100", "--mode=hardware", "--start=none"}));
    ::usleep(300000 + random() % 2500000);
    const std::vector<pid_t> children = ChildrenOf(tool.pid());
    tool.Signal(SIGKILL);
    EXPECT_EQ(tool.Wait().signal, SIGKILL);
    if (!fs::exists(folder_ / "run" / "records.db")) continue;
    // The log follows the record, so what is logged must be recorded.
    const std::set<std::string> now = Subjects();
    EXPECT_THAT(now, IsSupersetOf(before));
    std::istringstream log(ReadFile(folder_ / "run" / "log.txt"));
    for (std::string word; log >> word;) {
      if (word != "trial") continue;
      std::string subject;
      log >> subject;
      if (subject.ends_with(":")) subject.pop_back();
      EXPECT_TRUE(now.contains(subject)) << subject;
    }
    before = now;
    for (int wait = 0; wait < 6000; ++wait) {
      if (std::none_of(children.begin(), children.end(), Exists)) break;
      ::usleep(10000);
    }
    for (pid_t child : children) EXPECT_FALSE(Exists(child)) << "a measuring process outlives its tuner";
  }
  const ToolResult result = RunTool(Words({"--hardware-seconds=2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["verified"], true);
  if (!before.empty()) {
    EXPECT_GT(result.json()["known"].get<int>(), 0);
  }
  EXPECT_THAT(Subjects(), IsSupersetOf(before));
}

// The limit of a file's size at which the outputs of the default, the records or the answer cannot be written.
TEST_F(TuneTest, AfterAFullDiskTheSameCommandEndsWell) {
  for (int64_t limit : {3000, 10000, 16384, 40000}) {
    fs::remove_all(folder_ / "run");
    const ToolResult full = RunTool(Words({"--hardware-seconds=0.5"}), {.file_size_limit = limit});
    if (full.exit_code != 0) {
      EXPECT_THAT(full.err, AnyOf(HasSubstr("File too large"), HasSubstr("disk I/O error"), HasSubstr("disk is full")))
          << limit;
    }
    EXPECT_THAT(full.err, ::testing::Not(HasSubstr("wrong answer"))) << limit;
    const ToolResult result = RunTool(Words({"--hardware-seconds=0.5"}));
    ASSERT_EQ(result.exit_code, 0) << limit << ": " << result.err << "; at first: " << full.err;
    EXPECT_EQ(result.json()["verified"], true);
    EXPECT_EQ(result.json()["failed"], 0) << limit;
  }
}

TEST_F(TuneTest, InterruptedItEndsSoonWithTheBestSoFar) {
  Tool tool = Tool::Start(Words({"--budget=600", "--candidates=100000"}));
  while (tool.Running() && !fs::exists(folder_ / "run" / "records.db")) ::usleep(10000);
  ::usleep(500000);
  tool.Signal(SIGINT);
  const ToolResult result = tool.Wait();  // far less than the budget
  ASSERT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted by SIGINT: " + (folder_ / "run").string() + " has the best so far"));
  EXPECT_EQ(result.json()["interrupted"], true);
  for (const char* file : {"best.fusion.json", "fused.hlo", "report.txt"})
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
}

TEST_F(TuneTest, OnAFullDiskItSaysSoAndWhatWasRecordedStays) {
  ASSERT_EQ(RunTool(Words({"--hardware-seconds=1"})).exit_code, 0);
  const std::set<std::string> before = Subjects();
  // No file may grow beyond what the records take now, nor may any new one be longer than a page.
  const ToolResult full =
      RunTool(Words({"--hardware-seconds=30", "--seed=7", "--start=none"}), {.file_size_limit = 4096});
  EXPECT_NE(full.exit_code, 0);
  EXPECT_FALSE(full.err.empty());
  EXPECT_THAT(Subjects(), IsSupersetOf(before));
  const ToolResult again = RunTool(Words({"--hardware-seconds=1"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(TuneTest, RecordsThatAreNoRecordsAreOneClearError) {
  fs::create_directories(folder_ / "run");
  WriteFile(folder_ / "run" / "records.db", std::string(5000, 'x'));
  const ToolResult result = RunTool(Words({"--hardware-seconds=1"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("records.db"));
}

}  // namespace
}  // namespace smelt::cli

// Whole sessions of the real tool: tuned, killed, resumed.
#include "tuner/session.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "fusion/config_file.h"
#include "fusion/rules.h"
#include "gmock/gmock.h"
#include "gnn/corpus/corpus.h"
#include "gtest/gtest.h"
#include "hlo/file/read.h"
#include "hlo/verifier/verifier.h"
#include "measure/records/records.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string ModelPath(const std::string& name) {
  return (fs::path(SMELT_SOURCE_DIR) / "models" / (name + ".hlo")).string();
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : folder_(fs::path(::testing::TempDir()) /
                ("session-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
                 std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SessionTest() override { fs::remove_all(folder_); }

  // Starts the tool with its output thrown away; returns the child.
  pid_t Start(std::vector<std::string> words) {
    words.insert(words.begin(), SMELT_TOOL);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr ||
          std::freopen((folder_ / "stderr").c_str(), "w", stderr) == nullptr)
        ::_exit(9);
      ::execv(SMELT_TOOL, arguments.data());
      ::_exit(9);
    }
    return pid;
  }
  int Wait(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string Errors() {
    std::ifstream file(folder_ / "stderr");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string In(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(SessionTest, FindsAVerifiedAnswerThatReplaysAndGoesOnFromItsRecords) {
  const cpu::Target processor = *cpu::ParseTarget("cpu:threads=1");
  const std::unique_ptr<targets::Target> target =
      cpu::OwnKernels(processor, {.program = SMELT_TOOL, .cache_folder = In("cache")});
  const auto tunable = target->Open(ModelPath("dqn"), "priority");
  ASSERT_TRUE(tunable.ok()) << tunable.status();
  TuneOptions options;
  options.folder = In("run");
  options.moves = 400;
  options.chains = 2;
  options.hardware_seconds = 3;
  options.candidates = 6;
  options.comparison.children = 3;
  options.tiles = false;
  options.policy = {.repeats = 3, .seconds = 0.2};
  const auto predictor = gnn::Predictor::Analytical(processor);
  measure::Budget budget(60);
  auto report = Tune(**tunable, options, *predictor, budget);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->verified);
  EXPECT_GT(report->measured, 0);
  EXPECT_LE(report->best_seconds, report->default_seconds);
  EXPECT_EQ(report->improved, report->speedup() > 1);
  EXPECT_EQ(report->known_seconds, 0);
  for (const char* file : {"best.fusion.json", "fused.hlo", "records.db", "report.txt", "log.txt"})
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  auto fused = hlo::ReadModuleFile(In("run/fused.hlo"));
  EXPECT_TRUE(fused.ok()) << fused.status();
  auto replayed = targets::FuseProgram((*tunable)->program(), In("run/best.fusion.json"), processor);
  ASSERT_TRUE(replayed.ok()) << replayed.status();

  measure::Budget second(60);
  auto again = Tune(**tunable, options, *predictor, second);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_GT(again->known, 0);
  EXPECT_GT(again->known_seconds, 0);
  EXPECT_LT(again->measured, report->measured + 1);

  // A failure of the default that some run recorded does not make the folder useless.
  {
    auto records = measure::Records::Open(In("run/records.db"));
    ASSERT_TRUE(records.ok()) << records.status();
    measure::Record usual = (*records)->All()->front();
    ASSERT_TRUE(usual.outcome.ok());
    usual.outcome = {.failure = measure::Failure::kRunTimedOut, .message = "no answer in 60 s"};
    ASSERT_TRUE((*records)->Add(usual).ok());
  }
  measure::Budget third(60);
  const auto after = Tune(**tunable, options, *predictor, third);
  EXPECT_TRUE(after.ok()) << after.status();
}

TEST_F(SessionTest, WithoutTimeToMeasureTheDefaultThatIsTheAnswerInOneLine) {
  EXPECT_EQ(Wait(Start({"tune", ModelPath("dqn"), "--out=" + In("run"), "--cache=" + In("cache"), "--model=analytical",
                        "--budget=0.01", "--quiet"})),
            0)
      << Errors();
  EXPECT_TRUE(fs::exists(folder_ / "run" / "best.fusion.json"));
  std::ifstream file(folder_ / "run" / "report.txt");
  const std::string report{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(report, HasSubstr("0.01 s are too short to measure even the default. The default is the answer\n"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("moves")));
}

TEST_F(SessionTest, AConfigurationForCallsFromXlasProgramIsOfItsRules) {
  EXPECT_EQ(Wait(Start({"tune", ModelPath("dqn"), "--out=" + In("run"), "--cache=" + In("cache"), "--model=analytical",
                        "--target=embed", "--budget=0.01", "--quiet"})),
            0)
      << Errors();
  std::ifstream file(folder_ / "run" / "best.fusion.json");
  const std::string config{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(config, HasSubstr("\"target\": \"xla:"));
}

TEST_F(SessionTest, AConfigurationOfAnotherModuleNamesTheFirstDifference) {
  auto dqn = targets::LoadProgram(ModelPath("dqn"));
  auto attention = targets::LoadProgram(ModelPath("attention"));
  ASSERT_TRUE(dqn.ok() && attention.ok());
  auto space = fusion::Space::Build(dqn->module(), fusion::Rules::OwnKernels());
  ASSERT_TRUE(space.ok());
  const auto target = *cpu::ParseTarget("cpu:threads=1");
  auto config = targets::FusionConfig(*space, dqn->flat, "priority", target);
  ASSERT_TRUE(config.ok());
  ASSERT_TRUE(fusion::SaveConfig(In("dqn.fusion.json"), *space, {*config, {}, {}, {}}).ok());
  auto wrong = targets::FuseProgram(*attention, In("dqn.fusion.json"), target);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("made for another module"));
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("decision 0"));
}

TEST_F(SessionTest, AKilledSessionLosesNoRecordAndGoesOn) {
  const std::vector<std::string> words = {"tune",
                                          ModelPath("dqn"),
                                          "--out=" + In("run"),
                                          "--cache=" + In("cache"),
                                          "--model=analytical",
                                          "--moves=2000",
                                          "--hardware-seconds=4",
                                          "--no-tiles",
                                          "--quiet"};
  const pid_t pid = Start(words);
  size_t before = 0;
  for (int i = 0; i < 600 && before < 2; ++i) {
    ::usleep(100000);
    if (!fs::exists(folder_ / "run" / "records.db")) continue;
    auto records = measure::Records::Open(In("run/records.db"));
    if (!records.ok()) continue;
    auto all = (*records)->All();
    if (all.ok()) before = all->size();
  }
  ::kill(pid, SIGKILL);
  Wait(pid);
  ASSERT_GE(before, 2u) << Errors();
  auto records = measure::Records::Open(In("run/records.db"));
  ASSERT_TRUE(records.ok()) << records.status();
  auto all = (*records)->All();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_GE(all->size(), before);
  EXPECT_EQ(Wait(Start(words)), 0) << Errors();
  EXPECT_TRUE(fs::exists(folder_ / "run" / "best.fusion.json"));
  EXPECT_GE((*records)->All()->size(), all->size());
}

TEST_F(SessionTest, AnInterruptedSessionEndsCleanlyWithAnAnswer) {
  const pid_t pid =
      Start({"tune", ModelPath("dqn"), "--out=" + In("run"), "--cache=" + In("cache"), "--model=analytical",
             "--moves=2000", "--hardware-seconds=300", "--candidates=10000", "--no-tiles", "--quiet"});
  for (int i = 0; i < 600 && !fs::exists(folder_ / "run" / "records.db"); ++i) ::usleep(100000);
  ::usleep(1500000);
  ::kill(pid, SIGINT);
  EXPECT_EQ(Wait(pid), 130) << Errors();
  EXPECT_THAT(Errors(), HasSubstr("interrupted"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "best.fusion.json"));
}

TEST_F(SessionTest, AKilledProfileLosesAtMostTheKernelInProgressAndGoesOn) {
  const std::vector<std::string> words = {"profile",      ModelPath("train_step"),    "-o",
                                          In("corpus"),   "--cache=" + In("cache"),   "--configs=1000",
                                          "--kernels=60", "--seconds-per-program=60", "--visits=1"};
  auto count = [&] {
    std::set<std::string> hashes;
    auto report = gnn::ReadCorpus(In("corpus"), [&](const gnn::KernelExample& example) {
      EXPECT_TRUE(hashes.insert(example.hash.ToHex()).second) << "twice: " << example.hash.ToHex();
      return absl::OkStatus();
    });
    return report.ok() ? report->examples : 0;
  };
  const pid_t pid = Start(words);
  int64_t before = 0;
  for (int i = 0; i < 600 && before < 5; ++i) {
    ::usleep(100000);
    if (fs::exists(folder_ / "corpus")) before = count();
  }
  ::kill(pid, SIGKILL);
  Wait(pid);
  ASSERT_GE(before, 5) << Errors();
  EXPECT_GE(count(), before);
  EXPECT_EQ(Wait(Start(words)), 0) << Errors();
  EXPECT_GT(count(), before);
}

TEST_F(SessionTest, WrongWordsExitWithTwoAndFailedWorkWithOne) {
  EXPECT_EQ(Wait(Start({"tune"})), 2);
  EXPECT_EQ(Wait(Start({"run", ModelPath("dqn"), "--fusion=no-such-name"})), 2);
  EXPECT_EQ(Wait(Start({"inspect", In("missing.hlo")})), 1);
  EXPECT_THAT(Errors(), HasSubstr("missing.hlo"));
  std::ofstream(In("bad.hlo")) << "HloModule m\n\nENTRY e {\n  ROOT x = f32[2] add(y, y)\n}\n";
  EXPECT_EQ(Wait(Start({"inspect", In("bad.hlo")})), 1);
  EXPECT_THAT(Errors(), ::testing::ContainsRegex("bad.hlo:4:[0-9]+: "));
  std::ofstream(In("torn.safetensors")) << "abc";
  EXPECT_EQ(Wait(Start({"run", ModelPath("dqn"), "--golden=" + In("torn.safetensors")})), 1);
  EXPECT_THAT(Errors(), HasSubstr("torn.safetensors"));
}

}  // namespace
}  // namespace smelt::tuner

// A whole session, measured by the real tool's children; tests/cli kills, interrupts and resumes the tool itself.
#include "tuner/session.h"

#include <filesystem>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "hlo/file/read.h"
#include "measure/records/records.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"
#include "tests/scratch_folder.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;

std::string ModelPath(const std::string& name) {
  return (fs::path(SMELT_SOURCE_DIR) / "models" / (name + ".hlo")).string();
}

class SessionTest : public ::testing::Test {
 protected:
  std::string In(const char* name) const { return folder_.In(name); }

  const ScratchFolder folder_;
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
  measure::Budget budget(300);
  auto report = Tune(**tunable, options, *predictor, budget);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->verified);
  EXPECT_GT(report->measured, 0);
  EXPECT_LE(report->best_seconds, report->default_seconds);
  EXPECT_EQ(report->improved, report->speedup() > 1);
  EXPECT_EQ(report->known_seconds, 0);
  for (const char* file : {"best.fusion.json", "fused.hlo", "records.db", "report.txt", "log.txt"})
    EXPECT_TRUE(fs::exists(folder_.path() / "run" / file)) << file;
  auto fused = hlo::ReadModuleFile(In("run/fused.hlo"));
  EXPECT_TRUE(fused.ok()) << fused.status();
  auto replayed = targets::FuseProgram((*tunable)->program(), In("run/best.fusion.json"), processor);
  ASSERT_TRUE(replayed.ok()) << replayed.status();

  measure::Budget second(300);
  auto again = Tune(**tunable, options, *predictor, second);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_GT(again->known, 0);
  EXPECT_GT(again->known_seconds, 0);
  {
    auto records = measure::Records::Open(In("run/records.db"));
    ASSERT_TRUE(records.ok()) << records.status();
    std::set<std::string> timed;
    const std::vector<measure::Record> all = (*records)->All().value();
    for (const measure::Record& record : all)
      EXPECT_TRUE(timed.insert(record.key.subject).second)
          << "timed twice: " << record.description << " " << record.outcome.message;
  }

  // A failure of the default that some run recorded does not make the folder useless.
  {
    auto records = measure::Records::Open(In("run/records.db"));
    ASSERT_TRUE(records.ok()) << records.status();
    measure::Record usual = (*records)->All()->front();
    ASSERT_TRUE(usual.outcome.ok());
    usual.outcome = {.failure = measure::Failure::kRunTimedOut, .message = "no answer in 60 s"};
    ASSERT_TRUE((*records)->Add(usual).ok());
  }
  measure::Budget third(300);
  const auto after = Tune(**tunable, options, *predictor, third);
  EXPECT_TRUE(after.ok()) << after.status();
}

}  // namespace
}  // namespace smelt::tuner

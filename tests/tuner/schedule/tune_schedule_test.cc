// The search of one kernel on a target whose times are planted.
#include "tuner/schedule/tune_schedule.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/printer.h"
#include "tests/scratch_folder.h"
#include "tests/tuner/schedule/planted_target.h"
#include "tests/tuner/schedule/product_task.h"

namespace smelt::tuner {
namespace {

class TuneScheduleTest : public ::testing::Test {
 protected:
  ScheduleOptions Options(const std::string& run, int64_t trials) const {
    ScheduleOptions options{.folder = folder_.In(run), .batch = 8};
    options.search.trials = trials;
    options.search.representation = Representation::kKnobs;
    options.comparison.children = 3;
    return options;
  }
  static std::vector<std::string> Configs(const ScheduleReport& report) {
    std::vector<std::string> configs;
    for (const ScheduleTrialPoint& trial : report.trials) configs.push_back(trial.config);
    return configs;
  }

  const ProductTask product_{64};
  const ScratchFolder folder_;
};

// Nothing is faster than the default.
TEST_F(TuneScheduleTest, BeginsAtTheDefaultAndNeverAnswersWithWhatIsSlower) {
  const std::string usual = product_.task.space.Default().ToString();
  const PlantedTarget target([&](const std::string& way) { return way.empty() || way == usual ? 1e-3 : 2e-3; });
  const ScheduleReport report = TuneSchedule(product_.task, target, Options("run", 24)).value();
  ASSERT_EQ(report.trials.size(), 24u);
  EXPECT_EQ(report.trials[0].config, usual);
  EXPECT_FALSE(report.improved);
  // Some of the first batch differ from the default in three knobs or fewer.
  int near = 0;
  for (size_t i = 1; i < 8; ++i) {
    const Config config = product_.task.space.Parse(report.trials[i].config).value();
    int changed = 0;
    for (size_t k = 0; k < config.values().size(); ++k)
      changed += config.values()[k] != product_.task.space.Default().values()[k] ? 1 : 0;
    near += changed <= 3 ? 1 : 0;
  }
  EXPECT_GE(near, 3);
}

TEST_F(TuneScheduleTest, FindsThePlantedGainAndVerifiesIt) {
  const PlantedTarget target(
      [](const std::string& way) { return absl::StrContains(way, "epilogue=tile") ? 5e-4 : 1e-3; });
  const ScheduleReport report = TuneSchedule(product_.task, target, Options("run", 24)).value();
  EXPECT_TRUE(report.improved);
  EXPECT_TRUE(report.verified) << report.difference << report.unchecked;
  ASSERT_TRUE(report.best.has_value());
  EXPECT_THAT(report.best->ToString(), testing::HasSubstr("epilogue=tile"));
  EXPECT_EQ(report.failed, 0);
}

TEST_F(TuneScheduleTest, OneSeedAndItsRecordsGiveOneSequenceWhateverIsBuiltAhead) {
  const auto seconds = [](const std::string& way) { return 1e-3 + 1e-6 * static_cast<double>(way.size() % 17); };
  PlantedTarget ahead(seconds), alone(seconds);
  alone.keeps_code_ = false;
  const ScheduleReport one = TuneSchedule(product_.task, ahead, Options("one", 32)).value();
  const ScheduleReport other = TuneSchedule(product_.task, alone, Options("other", 32)).value();
  EXPECT_EQ(Configs(one), Configs(other));
  EXPECT_TRUE(alone.asked().compiled.empty());
  // Cut off and gone on with, it has the same trials to learn from.
  (void)TuneSchedule(product_.task, alone, Options("cut", 16)).value();
  const ScheduleReport whole = TuneSchedule(product_.task, alone, Options("cut", 32)).value();
  EXPECT_EQ(whole.known, 16);
  EXPECT_EQ(Configs(whole).size(), 32u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(whole.trials[i].config, other.trials[i].config);
}

TEST_F(TuneScheduleTest, WhatCannotBeBuiltIsAFailedTrialAndNotBuiltAgain) {
  const PlantedTarget target([](const std::string& way) { return absl::StrContains(way, "parallel=0") ? -1.0 : 1e-3; });
  const ScheduleReport report = TuneSchedule(product_.task, target, Options("run", 24)).value();
  int64_t failed = 0;
  for (const ScheduleTrialPoint& trial : report.trials) {
    EXPECT_EQ(trial.failure, absl::StrContains(trial.config, "parallel=0") ? "build failed" : "") << trial.config;
    failed += trial.failure.empty() ? 0 : 1;
  }
  EXPECT_EQ(report.failed, failed);
}

TEST(Finalists, AreTheBestOfThoseThatRan) {
  EXPECT_THAT(Finalists({1.0, 0.8, INFINITY, 0.82, 0.9, 0.83}, {.most = 3}), testing::ElementsAre(1, 3, 5));
  EXPECT_THAT(Finalists({1.0, 1.0, 1.0}, {.most = 2}), testing::ElementsAre(0, 1));
  EXPECT_THAT(Finalists({INFINITY}, {}), testing::IsEmpty());
  EXPECT_THAT(Finalists({}, {}), testing::IsEmpty());
}

TEST(RaceWinner, IsTheFastestInTurnAndNeverOneThatFails) {
  const PlantedTarget target([](const std::string& way) { return way == "c" ? 3e-4 : way == "b" ? -1 : 5e-4; });
  measure::Runner runner(target.NewDevice(targets::DeviceUse::kTimes), {});
  const ProductTask product(16);
  const std::string program = hlo::ToText(*product.kernel.module);
  const auto candidate = [&](const std::string& way) {
    measure::Candidate made{program};
    if (!way.empty()) made.knobs["kernel"] = way;
    return made;
  };
  EXPECT_EQ(RaceWinner(runner, candidate(""), {candidate("a"), candidate("b"), candidate("c")}, {}), 2u);
  EXPECT_EQ(RaceWinner(runner, candidate(""), {candidate("b"), candidate("b")}, {}), 0u);
}

}  // namespace
}  // namespace smelt::tuner

#include "measure/records/measurements.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scratch_folder.h"

namespace smelt::measure {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class MeasurementsTest : public ::testing::Test {
 protected:
  // A run of this folder; a later one knows what an earlier one measured.
  Measurements Run() {
    return Measurements(
        Records::Open(folder_.In("records.db")).value(),
        {"model.hlo", [this] { return spent_; }, [this](const std::string& line) { log_.push_back(line); }});
  }
  static Record Wanted(const std::string& subject) { return {{.subject = subject, .target = "t"}, "kernel", "one"}; }
  // Takes two seconds and ends so.
  auto Ends(Failure failure) {
    return [this, failure](Record* record) {
      ++calls_;
      spent_ += 2;
      record->outcome.failure = failure;
      if (failure == Failure::kNone) record->outcome.seconds = {0.5};
      if (failure != Failure::kNone) record->outcome.message = "why";
      return absl::OkStatus();
    };
  }

  const ScratchFolder folder_;
  double spent_ = 10;
  int calls_ = 0;
  std::vector<std::string> log_;
};

TEST_F(MeasurementsTest, AreMadeOnceAndKnownToLaterRuns) {
  {
    Measurements run = Run();
    auto first = run.Get(Wanted("a"), Ends(Failure::kNone));
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_FALSE(first->known);
    EXPECT_EQ(first->record.hardware_seconds, 2);
    auto again = run.Get(Wanted("a"), Ends(Failure::kRunCrashed));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->known);
    EXPECT_EQ(again->record.outcome.seconds, std::vector<double>{0.5});
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(run.counts("kernel").measured, 1);
    EXPECT_EQ(run.counts("kernel").known, 0);  // its own measurement
    EXPECT_EQ(run.known_seconds(), 0);
    EXPECT_EQ(run.counts("program").measured, 0);
  }
  Measurements later = Run();
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(later.Get(Wanted("a"), Ends(Failure::kNone))->known);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(later.counts("kernel").known, 1);  // counted once
  EXPECT_EQ(later.known_seconds(), 2);
}

TEST_F(MeasurementsTest, AFailureThatLastsIsAnAnswerUnlessItIsToBeMeasuredAgain) {
  Measurements run = Run();
  ASSERT_TRUE(run.Get(Wanted("a"), Ends(Failure::kBuildFailed)).ok());
  EXPECT_THAT(log_, SizeIs(1));
  EXPECT_THAT(log_[0], HasSubstr("trial a of one: "));
  EXPECT_THAT(log_[0], HasSubstr(": why"));
  auto again = run.Get(Wanted("a"), Ends(Failure::kNone));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->record.outcome.failure, Failure::kBuildFailed);
  EXPECT_EQ(run.counts("kernel").failed, 2);
  auto anew = run.Get(Wanted("a"), Ends(Failure::kNone), Measurements::Failures::kMeasureAgain);
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_TRUE(anew->record.outcome.ok());
  EXPECT_TRUE(run.Get(Wanted("a"), Ends(Failure::kBuildFailed))->record.outcome.ok());  // the last one counts
}

TEST_F(MeasurementsTest, OfWhichNothingBecameKnownAreMadeAgainUntilThereAreTooMany) {
  Measurements run = Run();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run.Get(Wanted("a"), Ends(Failure::kEnvironment)).ok());
  EXPECT_EQ(calls_, 4);
  EXPECT_THAT(log_[0], HasSubstr("; not recorded"));
  ASSERT_TRUE(run.Get(Wanted("b"), Ends(Failure::kNone)).ok());  // the row is broken
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run.Get(Wanted("a"), Ends(Failure::kEnvironment)).ok());
  const absl::Status ended = run.Get(Wanted("a"), Ends(Failure::kEnvironment)).status();
  EXPECT_TRUE(absl::IsUnavailable(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("model.hlo: 5 measurements one after the other gave nothing"));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("why"));
}

TEST_F(MeasurementsTest, ACheckMayTakeAnOutcomeBackAlsoAKnownOne) {
  const auto wrong = [](Record* record) {
    record->outcome.failure = Failure::kWrongAnswer;
    return true;
  };
  {
    Measurements run = Run();
    ASSERT_TRUE(run.Get(Wanted("a"), Ends(Failure::kNone)).ok());
  }
  Measurements run = Run();
  auto checked = run.Get(Wanted("a"), Ends(Failure::kNone), wrong);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_TRUE(checked->known);
  EXPECT_EQ(checked->record.outcome.failure, Failure::kWrongAnswer);
  EXPECT_EQ(run.Get(Wanted("a"), Ends(Failure::kNone))->record.outcome.failure, Failure::kWrongAnswer);
  const auto broken = [](Record*) { return absl::InternalError("no check"); };
  EXPECT_EQ(run.Get(Wanted("b"), Ends(Failure::kNone), broken).status(), absl::InternalError("no check"));
  EXPECT_FALSE(run.Get(Wanted("b"), Ends(Failure::kNone))->known);  // an error keeps nothing
}

TEST_F(MeasurementsTest, AnInterruptedOneLeavesNothing) {
  Measurements run = Run();
  const auto interrupted = [](Record*) { return absl::CancelledError("interrupted"); };
  EXPECT_TRUE(absl::IsCancelled(run.Get(Wanted("a"), interrupted).status()));
  EXPECT_EQ(run.counts("kernel").measured, 0);
  EXPECT_FALSE(run.Get(Wanted("a"), Ends(Failure::kNone))->known);
}

}  // namespace
}  // namespace smelt::measure

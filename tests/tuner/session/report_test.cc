// What the table at the end of a session says.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/session_report.h"

namespace smelt::tuner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Format(const TuneReport& report) {
  TuneOptions options;
  options.folder = "run";
  return FormatReport("m.hlo", options, report, measure::Budget(40));
}

TuneReport Compared(double gain, double low, double high, bool better) {
  TuneReport report;
  report.default_seconds = report.best_seconds = 2e-3;
  report.compared = {.usual_seconds = 2e-3,
                     .tuned_seconds = 1e-3,
                     .children = 8,
                     .gain = std::log(gain),
                     .low = std::log(low),
                     .high = std::log(high),
                     .better = better};
  report.improved = better;
  if (better) report.best_seconds = 1e-3;
  return report;
}

TEST(FormatReport, ShowsTheGainThatDecidedAndItsInterval) {
  const TuneReport report = Compared(1.8, 1.7, 1.9, true);
  EXPECT_NEAR(report.speedup(), 1.8, 1e-9);  // and not the ratio of the medians
  EXPECT_THAT(Format(report), HasSubstr("1.800 [1.700, 1.900] times the default's, of 8 processes"));
}

TEST(FormatReport, AGainThatMayBeNoiseIsShownAsSuch) {
  const TuneReport report = Compared(1.02, 0.99, 1.05, false);
  EXPECT_EQ(report.speedup(), 1);
  EXPECT_THAT(Format(report), HasSubstr("1.020 [0.990, 1.050] times the default's speed, which may be noise: "
                                        "the default is the answer"));
}

TEST(FormatReport, SaysNothingOfWhatDidNotHappen) {
  TuneReport interrupted;
  interrupted.interrupted = true;
  EXPECT_THAT(Format(interrupted), AllOf(HasSubstr("nothing was measured"), Not(HasSubstr("moves")),
                                         Not(HasSubstr("noise")), Not(HasSubstr("0.0000 ms"))));
  interrupted.default_seconds = interrupted.best_seconds = 1e-3;
  interrupted.measured = 1;
  EXPECT_THAT(Format(interrupted),
              AllOf(HasSubstr("1 configurations measured"), Not(HasSubstr("moves")), Not(HasSubstr("noise"))));
}

TEST(FormatReport, SaysWhatTheTimeWentForAndWhatEarlierRunsSpent) {
  TuneReport report = Compared(1.8, 1.7, 1.9, true);
  report.known = 3;
  report.hardware_seconds = 9;
  report.known_seconds = 4;
  EXPECT_THAT(Format(report), AllOf(HasSubstr("s of 40 s: "), HasSubstr("s preparing, "),
                                    HasSubstr("9.0 s of compiling and timing, 4.0 s of it in earlier runs")));
}

}  // namespace
}  // namespace smelt::tuner

#include "tuner/contenders.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ShareOut, NearDefaultsShareTheTimeByTheSquareOfHowNearTheyAre) {
  const std::vector<Part> parts = ShareOut({{"cpu", 1e-3, 1}, {"xla", 1.25e-3, 1}}, 100);
  EXPECT_THAT(parts[0].why_none, IsEmpty());
  EXPECT_THAT(parts[1].why_none, IsEmpty());
  EXPECT_DOUBLE_EQ(parts[0].weight, 1);
  EXPECT_DOUBLE_EQ(parts[1].weight, 0.64);
}

TEST(ShareOut, ADefaultThatTakesTwiceAsLongGetsNoTime) {
  const std::vector<Part> parts = ShareOut({{"cpu", 2.1e-3, 0}, {"xla", 1e-3, 0}}, 1000);
  EXPECT_THAT(parts[0].why_none, HasSubstr("takes 2.1 ms, 2.1 times that of xla"));
  EXPECT_THAT(parts[1].why_none, IsEmpty());
}

TEST(ShareOut, APartThatIsShortForWhatATargetTakesToBeginGoesToTheFastest) {
  const std::vector<Part> parts = ShareOut({{"cpu", 1e-3, 2}, {"xla", 1.2e-3, 10}}, 40);
  EXPECT_THAT(parts[0].why_none, IsEmpty());
  EXPECT_THAT(parts[1].why_none, HasSubstr("1.20 times as long; the 16 s left for it are few, and go to cpu"));
}

TEST(ShareOut, WhatTheFurthestLeavesMayBeEnoughForTheNext) {
  // A third of the time would be too short for either; half of it is enough.
  const std::vector<Part> parts = ShareOut({{"cpu", 1e-3, 1}, {"xla", 1e-3, 10}, {"vdla", 1.1e-3, 10}}, 84);
  EXPECT_THAT(parts[0].why_none, IsEmpty());
  EXPECT_THAT(parts[1].why_none, IsEmpty());
  EXPECT_THAT(parts[2].why_none, HasSubstr("1.10 times as long"));
}

TEST(ShareOut, ADefaultThatIsNotKnownGetsAnEqualPartWhereThereIsTimeForIt) {
  EXPECT_THAT(ShareOut({{"cpu", 1e-3, 1}, {"xla", 0, 2}}, 40)[1].why_none, IsEmpty());
  EXPECT_THAT(ShareOut({{"cpu", 1e-3, 1}, {"xla", 0, 6}}, 40)[1].why_none, HasSubstr("was not timed in time"));
}

TEST(ShareOut, WhereNothingIsKnownAllHaveEqualParts) {
  for (const Part& part : ShareOut({{"cpu", 0, 9}, {"xla", 0, 9}}, 10)) {
    EXPECT_THAT(part.why_none, IsEmpty());
    EXPECT_DOUBLE_EQ(part.weight, 1);
  }
}

}  // namespace
}  // namespace smelt::tuner

#include "base/deadline.h"

#include <gtest/gtest.h>

#include <limits>

namespace smelt {
namespace {

Clock::time_point At(double seconds) {
  return Clock::time_point() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(Deadline, TakesTheTimeBetweenQuestions) {
  Deadline deadline(2, At(0));
  EXPECT_DOUBLE_EQ(deadline.Left(At(0.5)), 1.5);
  EXPECT_DOUBLE_EQ(deadline.Left(At(1.75)), 0.25);
  EXPECT_EQ(deadline.Left(At(2.5)), 0);
  EXPECT_EQ(deadline.Left(At(2.6)), 0);
}

TEST(Deadline, StandsStillWithTheProcess) {
  Deadline deadline(2, At(0));
  deadline.Left(At(0.5));
  EXPECT_DOUBLE_EQ(deadline.Left(At(3600)), 1.5);
  EXPECT_DOUBLE_EQ(deadline.Left(At(3601)), 0.5);
}

TEST(Deadline, MayBeWithoutEnd) {
  Deadline deadline(std::numeric_limits<double>::infinity(), At(0));
  EXPECT_GT(deadline.Left(At(4)), 1e300);
}

}  // namespace
}  // namespace smelt

#include "measure/timing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::measure {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// A machine on which thing i takes i + 1 seconds, and nothing else takes any.
struct Simulated {
  double now = 0;
  std::vector<size_t> order;

  absl::StatusOr<std::vector<std::vector<double>>> Time(size_t count, const SampleLimits& limits) {
    return TimeInTurn(
        count, limits,
        [this](size_t i) -> absl::StatusOr<double> {
          order.push_back(i);
          now += static_cast<double>(i) + 1;
          return static_cast<double>(i) + 1;
        },
        [this] { return now; });
  }
};

TEST(TimeInTurn, GoesBackwardsEveryOtherRound) {
  Simulated machine;
  const auto samples = machine.Time(3, {.rounds = 3, .seconds = 1000});
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(machine.order, ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 2));
  EXPECT_THAT(*samples, ElementsAre(ElementsAre(1, 1, 1), ElementsAre(2, 2, 2), ElementsAre(3, 3, 3)));
}

TEST(TimeInTurn, TakesThreeRoundsInAnyCaseAndNoFurtherOneBeyondItsTime) {
  EXPECT_THAT(*Simulated().Time(2, {.rounds = 50, .seconds = 0}), Each(SizeIs(3)));
  EXPECT_THAT(*Simulated().Time(2, {.rounds = 50, .seconds = 14}), Each(SizeIs(5)));  // a round takes 3 seconds
  EXPECT_THAT(*Simulated().Time(2, {.rounds = 2, .seconds = 0}), Each(SizeIs(2)));    // nor more than are asked for
}

TEST(TimeInTurn, ShortThingsGetMoreRoundsAsFarAsThatGoes) {
  EXPECT_THAT(*Simulated().Time(1, {.rounds = 5, .seconds = 1000, .least_seconds = 20}), Each(SizeIs(20)));
  EXPECT_THAT(*Simulated().Time(1, {.rounds = 5, .seconds = 8, .least_seconds = 20}), Each(SizeIs(8)));
  EXPECT_THAT(*Simulated().Time(1, {.rounds = 5, .seconds = 1000, .least_seconds = 500, .most_rounds = 7}),
              Each(SizeIs(7)));
  // What is asked for counts, even where it is more than that.
  EXPECT_THAT(*Simulated().Time(1, {.rounds = 9, .seconds = 1000, .least_seconds = 500, .most_rounds = 7}),
              Each(SizeIs(9)));
}

TEST(TimeInTurn, WhatIsHopelessGetsOneRound) {
  EXPECT_THAT(*Simulated().Time(2, {.rounds = 5, .seconds = 1000, .hopeless = 2}), Each(SizeIs(1)));
  EXPECT_THAT(*Simulated().Time(2, {.rounds = 5, .seconds = 1000, .hopeless = 2.1}), Each(SizeIs(5)));
  EXPECT_THAT(*Simulated().Time(3, {.rounds = 5, .seconds = 1000, .hopeless = 2.1}), Each(SizeIs(5)));  // one is not
  EXPECT_THAT(*Simulated().Time(1, {.rounds = 5, .seconds = 1000, .hopeless = 2}), Each(SizeIs(5)));
}

TEST(TimeInTurn, OneDisturbedRoundMakesNothingHopeless) {
  double now = 0;
  int samples = 0;
  const auto times = TimeInTurn(
      2, {.rounds = 5, .seconds = 1000, .hopeless = 2},
      [&](size_t i) -> absl::StatusOr<double> {
        const double seconds = i == 1 && samples++ == 0 ? 1e-2 : 1e-3;  // a process that took the core for a moment
        now += seconds;
        return seconds;
      },
      [&] { return now; });
  EXPECT_THAT(*times, Each(SizeIs(5)));
}

TEST(TimeInTurn, EndsWithTheFirstErrorAndTimesNothingWhereThereIsNothing) {
  int calls = 0;
  const auto failed = TimeInTurn(2, {}, [&](size_t i) -> absl::StatusOr<double> {
    if (++calls == 4) return absl::ResourceExhaustedError("no memory");
    return static_cast<double>(i);
  });
  EXPECT_EQ(failed.status(), absl::ResourceExhaustedError("no memory"));
  EXPECT_EQ(calls, 4);
  EXPECT_THAT(*TimeInTurn(0, {.seconds = 0}, [](size_t) { return 1.0; }), SizeIs(0));
}

}  // namespace
}  // namespace smelt::measure

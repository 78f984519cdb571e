#include "tuner/schedule/task_scheduler.h"

#include <vector>

#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

TEST(TaskScheduler, GivesEachKernelATurnTheHeaviestFirst) {
  TaskScheduler scheduler({{.weight = 1, .seconds = 1e-3}, {.weight = 10, .seconds = 1e-3}}, {});
  EXPECT_EQ(scheduler.Next(), 1u);
  scheduler.Note(1, 8, 1e-3);
  EXPECT_EQ(scheduler.Next(), 0u);
  EXPECT_DOUBLE_EQ(scheduler.seconds(), 11e-3);
}

TEST(TaskScheduler, GoesWhereTheLastTrialsSaved) {
  TaskScheduler scheduler({{.weight = 1, .seconds = 1e-3, .flops = 1e6}, {.weight = 1, .seconds = 1e-3, .flops = 1e6}},
                          {.alpha = 1});
  scheduler.Note(0, 8, 1e-3);
  scheduler.Note(1, 8, 0.6e-3);
  EXPECT_EQ(scheduler.Next(), 1u);
  EXPECT_GT(scheduler.Gain(1), scheduler.Gain(0));
}

TEST(TaskScheduler, LeavesKernelsThatAreAlreadyAsFastAsTheBest) {
  // The first reaches the rate of the second many times over: nothing is left to gain there.
  TaskScheduler scheduler({{.weight = 1, .seconds = 1e-3, .flops = 1e9}, {.weight = 1, .seconds = 1e-3, .flops = 1e6}},
                          {.alpha = 0, .beta = 1});
  scheduler.Note(0, 8, 1e-3);
  scheduler.Note(1, 8, 1e-3);
  EXPECT_EQ(scheduler.Gain(0), 0);
  EXPECT_EQ(scheduler.Next(), 1u);
}

TEST(TaskScheduler, EndsWhenAllAreFinishedAndIgnoresWhatWeighsNothing) {
  TaskScheduler scheduler({{.weight = 1, .seconds = 1}, {.weight = 1, .seconds = 1e-4}, {.weight = 0, .seconds = 1}},
                          {});
  EXPECT_EQ(scheduler.Next(), 0u);
  scheduler.Finish(0);
  EXPECT_FALSE(scheduler.Next().has_value());
  EXPECT_FALSE(TaskScheduler({}, {}).Next().has_value());
}

// All of a budget on a program of three kernels with known curves: the share follows what each gains for the whole.
TEST(TaskScheduler, SharesABudgetByGainToTheWhole) {
  const std::vector<double> floor = {0.5, 0.9, 0.5};  // of the default, reached with trials
  std::vector<KernelTask> tasks = {
      {.weight = 10, .seconds = 1}, {.weight = 10, .seconds = 1}, {.weight = 1, .seconds = 1}};
  TaskScheduler scheduler(tasks, {});
  std::vector<int> turns(3, 0);
  for (int turn = 0; turn < 40; ++turn) {
    const size_t task = *scheduler.Next();
    ++turns[task];
    scheduler.Note(task, 8, floor[task] + (1 - floor[task]) / (1 + turns[task]));
  }
  EXPECT_GT(turns[0], turns[2]);
  EXPECT_GT(turns[1], turns[2]);
  EXPECT_GE(turns[2], 1);
}

}  // namespace
}  // namespace smelt::tuner

#include "runtime/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace smelt::runtime {
namespace {

TEST(ThreadPool, RunsEveryPieceOnceOnDistinctWorkers) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t extent : {0, 1, 2, 3, 7, 100}) {
      std::vector<std::atomic<int>> seen(extent);
      std::vector<std::atomic<int>> workers(threads);
      pool.ParallelFor(extent, [&](int worker, int64_t begin, int64_t end) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        ++workers[worker];
        for (int64_t i = begin; i < end; ++i) ++seen[i];
      });
      for (int64_t i = 0; i < extent; ++i) EXPECT_EQ(seen[i], 1) << threads << " threads, " << i << " of " << extent;
      for (const std::atomic<int>& count : workers) EXPECT_LE(count, 1);
    }
  }
}

TEST(ThreadPool, StaysOnTheCallingThreadWhereThereIsNothingToShare) {
  ThreadPool pool(4);
  const std::thread::id caller = std::this_thread::get_id();
  pool.ParallelFor(1, [&](int, int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ThreadPool, GivesTheCallersProcessorsBack) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  ThreadPool pool(2);
  {
    ThreadPool::CallerPin pin(pool);
    pool.ParallelFor(2, [](int, int64_t, int64_t) {});
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// On a worker's processor it would lose whole slices of time to it; anywhere else nothing needs to be said to the
// system.
TEST(ThreadPool, MovesACallerAwayFromItsWorkerAndNoOther) {
  cpu_set_t before, last, now;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor, which the worker shares with the caller";
  ThreadPool pool(2);
  int processor = CPU_SETSIZE - 1;
  while (!CPU_ISSET(processor, &before)) --processor;
  CPU_ZERO(&last);
  CPU_SET(processor, &last);
  ASSERT_EQ(sched_setaffinity(0, sizeof(last), &last), 0);
  {
    ThreadPool::CallerPin pin(pool);
    EXPECT_NE(sched_getcpu(), processor);
    ThreadPool::CallerPin again(pool);
    ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_FALSE(CPU_ISSET(processor, &now));
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
  EXPECT_TRUE(CPU_EQUAL(&now, &last));
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(ThreadPool, FinishesEveryCallOfManyInARowAndAfterPauses) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) {
      pool.ParallelFor(3, [&](int, int64_t begin, int64_t end) { sum += end - begin; });
    }
    // Long enough for the workers to park.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(sum, 9000);
}

}  // namespace
}  // namespace smelt::runtime

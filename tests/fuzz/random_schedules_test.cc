// Random schedules of graphs that come from HLO: the types and index expressions that hand-written graphs do not have.
#include <gtest/gtest.h>

#include "bench/lowered_agreement.h"
#include "bench/random_schedule.h"
#include "fuzz/generate/generate.h"
#include "kernels/te/hlo/from_hlo.h"

namespace smelt::fuzz {
namespace {

TEST(RandomSchedules, OfRandomModulesMeanWhatTheirGraphsSay) {
  int agreed = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const auto module = GenerateModule(7, seed, {.max_instructions = 5, .max_elements = 128});
    const auto graph = kernels::te::FromHlo(*module->entry());
    if (!graph.ok()) continue;  // an operation without a loop nest
    double steps = 0;
    for (const auto& operation : graph->operations) {
      double own = 1;
      for (const int64_t extent : operation->shape) own *= static_cast<double>(extent);
      for (const auto& axis : operation->reduce_axes) own *= static_cast<double>(axis.extent);
      steps += own;
    }
    if (steps > 20000) continue;  // too much to interpret in a test
    bench::ScheduleFuzzer fuzzer(seed);
    kernels::schedule::Schedule schedule(*graph);
    EXPECT_EQ(fuzzer.ScheduleAtRandom(&schedule), "") << "a refused primitive changed the schedule, seed " << seed;
    if (!kernels::lower::Lower(schedule, {}).ok()) continue;  // refused with a reason
    // Short floats round where a sum takes another order.
    EXPECT_EQ(bench::Difference(schedule, bench::RandomInputs(*graph, seed), 0.2), "") << "seed " << seed;
    ++agreed;
  }
  EXPECT_GT(agreed, 20);
}

}  // namespace
}  // namespace smelt::fuzz

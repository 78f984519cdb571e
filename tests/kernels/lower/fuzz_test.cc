// Random graphs under random schedules against direct evaluation. Prints the seed of what fails, with the trace and the
// loop IR; SMELT_FUZZ_SEED runs one seed, SMELT_FUZZ_COUNT as many as asked for, SMELT_FUZZ_DUMP prints the loop IR
// after every pass.
#include <cstdio>
#include <cstdlib>

#include "bench/random_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

TEST(LoweringFuzz, RandomGraphsUnderRandomSchedules) {
  const char* one = std::getenv("SMELT_FUZZ_SEED");
  const char* count = std::getenv("SMELT_FUZZ_COUNT");
  const uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const uint64_t rounds = one != nullptr ? 1 : count != nullptr ? std::strtoull(count, nullptr, 10) : 600;
  int lowered = 0, failures = 0;
  for (uint64_t seed = first; seed < first + rounds && failures < 3; ++seed) {
    bench::ScheduleFuzzer fuzzer(seed);
    const te::Graph graph = fuzzer.MakeRandomGraph();
    Schedule s(graph);
    EXPECT_EQ(fuzzer.ScheduleAtRandom(&s), "") << "a refused primitive changed the schedule, seed " << seed;
    std::string dump;
    const auto function = Lower(s, {.dump = std::getenv("SMELT_FUZZ_DUMP") != nullptr ? &dump : nullptr});
    std::fputs(dump.c_str(), stderr);
    if (!function.ok()) {
      // Refused with a reason that names a stage: fine, as long as it is not the rule.
      EXPECT_EQ(function.status().code(), absl::StatusCode::kInvalidArgument) << function.status() << " seed " << seed;
      continue;
    }
    ++lowered;
    const std::string difference = Difference(s, RandomInputs(graph, seed));
    EXPECT_EQ(difference, "") << "seed " << seed << "\n" << te::ToString(graph);
    failures += difference.empty() ? 0 : 1;
  }
  if (one == nullptr) {
    EXPECT_GT(lowered, static_cast<int>(rounds) / 2);
  }
}

}  // namespace
}  // namespace smelt::kernels::lower

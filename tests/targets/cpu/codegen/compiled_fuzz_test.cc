// Random schedules compiled to machine code: what runs must be what the definition says, must not write next to its
// buffers, and must not read beyond them (each ends just before a page that cannot be read).
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/compiled_agreement.h"
#include "bench/random_schedule.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::lower::Lower;
using kernels::schedule::Schedule;

TEST(CompiledFuzz, RandomSchedulesRunAsTheirGraphsSay) {
  const char* one = std::getenv("SMELT_FUZZ_SEED");
  const char* count = std::getenv("SMELT_FUZZ_COUNT");
  const uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 100000;
  const uint64_t rounds = one != nullptr ? 1 : count != nullptr ? std::strtoull(count, nullptr, 10) : 200;
  const Target target = DetectTarget(false);
  int failures = 0;
  for (uint64_t seed = first; seed < first + rounds && failures < 3; ++seed) {
    bench::ScheduleFuzzer fuzzer(seed);
    const kernels::te::Graph graph = fuzzer.MakeRandomGraph();
    Schedule s(graph);
    fuzzer.ScheduleAtRandom(&s);
    const auto function = Lower(s, {});
    if (!function.ok()) continue;
    const std::string difference = bench::CompiledDifference(s, *function, target, bench::RandomInputs(graph, seed));
    EXPECT_EQ(difference, "") << "seed " << seed << "\n" << kernels::te::ToString(graph);
    failures += difference.empty() ? 0 : 1;
  }
}

}  // namespace
}  // namespace smelt::cpu::codegen

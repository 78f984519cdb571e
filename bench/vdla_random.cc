// Do the two timings of the simulator of VDLA agree? Random programs without races must leave the same bytes in DRAM
// under both, have no race, and have one as soon as a token that they need is taken away.
//
//   build/release/bench/vdla_random --programs=100000 --seed=1
#include <cstdio>

#include "CLI/CLI.hpp"
#include "base/clock.h"
#include "bench/vdla_agreement.h"

int main(int argc, char** argv) {
  CLI::App app("Random programs of VDLA: functional against cycle by cycle.");
  int64_t programs = 100000;
  uint64_t seed = 1;
  app.add_option("--programs", programs, "How many")->check(CLI::PositiveNumber);
  app.add_option("--seed", seed, "Of the first; those that follow count up");
  CLI11_PARSE(app, argc, argv);
  const smelt::Clock::time_point start = smelt::Clock::now();
  smelt::bench::AgreementCount count;
  for (int64_t p = 0; p < programs; ++p) {
    const std::string difference = smelt::bench::FindDisagreement(seed + static_cast<uint64_t>(p), &count);
    if (difference.empty()) continue;
    std::printf("seed %lu: %s\n", seed + static_cast<uint64_t>(p), difference.c_str());
    return 1;
  }
  std::printf(
      "%ld programs of %ld instructions agree; %ld tokens were taken away one by one, and each was missed; %.0f "
      "seconds\n",
      programs, count.instructions, count.tokens, smelt::Since(start));
  return 0;
}

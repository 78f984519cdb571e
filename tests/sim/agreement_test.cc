// Whole programs: random ones under both timings, and convolutions beside a direct one. bench/vdla_random runs more.
#include "bench/vdla_agreement.h"
#include "bench/vdla_layers.h"
#include "gtest/gtest.h"
#include "sim/estimate.h"
#include "tests/sim/run_text.h"

namespace smelt::bench {
namespace {

TEST(RandomPrograms, LeaveTheSameDramUnderBothTimingsAndMissEveryToken) {
  AgreementCount count;
  for (uint64_t seed = 0; seed < 500; ++seed) ASSERT_EQ(FindDisagreement(seed, &count), "") << "seed " << seed;
  EXPECT_GT(count.tokens, 250);
}

TEST(Layers, AreConvolutionsAndTheEstimateIsNear) {
  const Layer small[] = {
      {"square", 12, 32, 64, 3, 1, 1}, {"strided", 13, 64, 32, 3, 2, 1}, {"point", 14, 64, 64, 1, 1, 1}};
  for (const char* machine : {"pynq", "big"}) {
    const vdla::isa::Config config = vdla::isa::Config::Named(machine).value();
    for (const Layer& layer : small) {
      int64_t cycles[3] = {};
      for (const int64_t threads : {1, 2}) {
        const vdla::isa::Program program = LayerProgram(layer, threads, config, /*seed=*/3).value();
        for (const sim::Timing timing : {sim::Timing::kFunctional, sim::Timing::kCycle}) {
          const sim::TextRun run = sim::RunProgram(program, {.timing = timing});
          ASSERT_TRUE(run.report.ToStatus().ok()) << run.report.ToStatus();
          const vdla::isa::Segment* y = program.Find("y");
          EXPECT_EQ(run.machine->dram().Read(y->address, y->size).value(), LayerResult(layer, program, config))
              << layer.name << " " << threads;
          cycles[threads] = run.report.cycles;
        }
        const sim::Estimate estimate = sim::EstimateCycles(program).value();
        EXPECT_NEAR(static_cast<double>(estimate.cycles), static_cast<double>(cycles[threads]),
                    0.1 * static_cast<double>(cycles[threads]))
            << layer.name << " " << threads << " " << machine;
      }
    }
  }
}

TEST(Layers, TwoThreadsHideTransfers) {
  const vdla::isa::Config config = vdla::isa::Config::Named("pynq").value();
  const auto utilisation = [&](int64_t threads) {
    return sim::RunProgram(LayerProgram(kResNet18Layers[7], threads, config, 1).value(), {.find_races = false})
        .report.Utilisation();
  };
  const double one = utilisation(1), two = utilisation(2);
  EXPECT_GT(two, 0.88);  // what the paper reports for all layers
  EXPECT_GT(two, 1.3 * one);
}

}  // namespace
}  // namespace smelt::bench

// Layers of ResNet-18 on the core, bit by bit against plain loops and the simulator, and in the simulator's time.
#include <gtest/gtest.h>

#include <cstdio>

#include "bench/vdla_layers.h"
#include "tests/vdla/rtl/comparison.h"

namespace smelt::vdla::rtl {
namespace {

void ExpectEqual(const bench::Layer& layer, int64_t threads) {
  const isa::Config config = isa::Config::Named("pynq").value();
  isa::Program program = bench::LayerProgram(layer, threads, config, /*seed=*/1).value();
  const isa::Segment y = *program.Find("y");
  program.segments.push_back(
      {"expected", isa::Role::kResult, y.address, y.size, bench::LayerResult(layer, program, config)});
  const Comparison run = RunEverywhere(program);
  ASSERT_EQ(run.difference, "");
  EXPECT_EQ(run.report.gemm_micro_ops,
            layer.in / 16 * (layer.out / 16) * layer.kernel * layer.kernel * layer.out_size() * layer.out_size());
  // Each instruction that computes, and the whole layer with all its transfers.
  EXPECT_GT(run.gemm.instructions, 0);
  EXPECT_GT(run.alu.instructions, 0);
  EXPECT_LE(run.gemm.most_apart, 0.02);
  EXPECT_LE(run.alu.most_apart, 0.02);
  EXPECT_NEAR(static_cast<double>(run.core.cycles) / static_cast<double>(run.report.cycles), 1, 0.1);
  std::printf("%s, %d threads; cycles of core and simulator: GEMM %lld %lld, ALU %lld %lld, all %lld %lld\n",
              layer.name, static_cast<int>(threads), static_cast<long long>(run.gemm.core),
              static_cast<long long>(run.gemm.simulator), static_cast<long long>(run.alu.core),
              static_cast<long long>(run.alu.simulator), static_cast<long long>(run.core.cycles),
              static_cast<long long>(run.report.cycles));
}

const bench::Layer& LayerOf(const std::string& name) {
  for (const bench::Layer& layer : bench::kResNet18Layers) {
    if (layer.name == name) return layer;
  }
  std::abort();
}

TEST(RtlConvolution, OfThreeByThreeOnSevenBySeven) {
  bench::Layer layer = LayerOf("C11");  // called C12 where the first layers count too
  layer.out /= 4;                       // a quarter of its channels: a quarter of its time
  ExpectEqual(layer, 2);
}

TEST(RtlConvolution, OfOneByOneWithAStride) {
  for (const char* name : {"C4", "C7", "C10"}) {
    for (const int64_t threads : {1, 2}) ExpectEqual(LayerOf(name), threads);
  }
}

}  // namespace
}  // namespace smelt::vdla::rtl

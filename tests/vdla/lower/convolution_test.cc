// Convolutions and products that are lowered to VDLA: the simulator's results, bit by bit, against plain C++.
#include "vdla/lower/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/layer.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using sim::Timing;
using testing::HasSubstr;

Config Pynq() { return Config::Named("pynq").value(); }

// Small memories, so that small layers have many tiles.
Config Small() {
  Config config = Pynq();
  config.name = "small";
  config.inp_bytes = 4096;   // 256 elements
  config.wgt_bytes = 10240;  // 40
  config.acc_bytes = 8192;   // 128
  config.uop_bytes = 1024;   // 256
  config.token_queue_depth = 4;
  config.command_queue_depth = 8;
  return config;
}

Convolution Kernel(int64_t size, int64_t height, int64_t width, int64_t stride, int64_t padding) {
  Convolution c{.name = "layer", .height = height, .width = width, .kernel_height = size, .kernel_width = size};
  c.stride_height = c.stride_width = stride;
  c.padding = {padding, padding, padding, padding};
  return c;
}

struct LayerRun {
  std::vector<int32_t> output;  // NCHW
  sim::Report report;
  Emitted emitted;
};
// Lowers, checks the program, runs it. Errors: those of lowering, of the simulator, races.
absl::StatusOr<LayerRun> RunLayer(const Layer& layer, const ConvolutionSchedule& schedule, const Config& config,
                                  Timing timing) {
  SMELT_ASSIGN_OR_RETURN(const Operations operations, ScheduleConvolution(layer.convolution, schedule));
  LayerRun run;
  SMELT_ASSIGN_OR_RETURN(run.emitted, Emit(operations, config));
  isa::Program& program = run.emitted.program;
  FillSegments(layer, config, &program);
  SMELT_RETURN_IF_ERROR(isa::CheckProgram(program));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(program));
  run.report = sim::Simulate(*machine, program.instructions, {.timing = timing});
  SMELT_RETURN_IF_ERROR(run.report.ToStatus());
  const isa::Segment& output = *program.Find("output");
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, machine->dram().Read(output.address, output.size));
  run.output = OutputOf(layer, config, bytes);
  return run;
}

void ExpectRight(const Layer& layer, const ConvolutionSchedule& schedule, const Config& config, Timing timing) {
  const absl::StatusOr<LayerRun> run = RunLayer(layer, schedule, config, timing);
  ASSERT_TRUE(run.ok()) << run.status() << "\n" << schedule.ToString();
  EXPECT_TRUE(run->output == Reference(layer)) << schedule.ToString();
  EXPECT_EQ(run->report.gemm_micro_ops, run->emitted.gemm_micro_ops);
  EXPECT_EQ(run->report.gemm_micro_ops, layer.convolution.micro_ops());  // no product is computed twice or for nothing
  EXPECT_EQ(run->report.dram_read_bytes + run->report.dram_written_bytes, run->emitted.dram_bytes);
}

TEST(Convolution, OneTileIsRight) {
  std::mt19937 random(1);
  Convolution c = Kernel(3, 6, 6, 1, 1);
  c.int8_output = false;
  const Layer layer = RandomLayer(c, 1, 32, 32, Pynq(), random);
  ExpectRight(layer, {.out_blocks = 2, .rows = 6, .columns = 6, .in_blocks = 2}, Pynq(), Timing::kFunctional);
}

TEST(Convolution, RunsC5OfResNetWithTwoThreads) {
  std::mt19937 random(2);
  Convolution c = Kernel(3, 28, 28, 1, 1);
  c.epilogue = RequantizeEpilogue(/*residual=*/false, /*relu=*/true);
  const Layer layer = RandomLayer(c, 1, 128, 128, Pynq(), random);
  const ConvolutionSchedule schedule{.out_blocks = 4, .rows = 7, .columns = 28, .in_blocks = 1, .threads = 2};
  const absl::StatusOr<LayerRun> run = RunLayer(layer, schedule, Pynq(), Timing::kCycle);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->output == Reference(layer));
  EXPECT_GT(run->report.Utilisation(), 0.8);
}

TEST(Convolution, MatrixProductsAreRight) {
  std::mt19937 random(3);
  Convolution product = MatrixProduct("product", 50, 4, 3);
  product.int8_output = false;
  const Layer layer = RandomLayer(product, 1, 64, 48, Small(), random);
  for (const int64_t threads : {1, 2, 4}) {
    for (const ConvolutionSchedule& schedule : ConvolutionSchedules(layer.convolution, Small(), threads)) {
      ExpectRight(layer, schedule, Small(), Timing::kFunctional);
      if (HasFailure()) return;
    }
  }
}

TEST(Convolution, MemoriesThatAreTooSmallAreNamed) {
  Convolution c = Kernel(3, 56, 56, 1, 1);
  c.in_blocks = c.out_blocks = 4;
  const ConvolutionSchedule whole{.out_blocks = 4, .rows = 8, .columns = 56, .in_blocks = 4};
  const absl::Status status = Emit(ScheduleConvolution(c, whole).value(), Pynq()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("`input_tile` takes 2320 elements (37120 bytes) of INP, of whose 2048 (32768 bytes) 2048 are free"));
}

TEST(Convolution, TilesBeyondTheTensorAreRefused) {
  Convolution c = Kernel(3, 8, 8, 1, 1);
  EXPECT_THAT(std::string(ScheduleConvolution(c, {.rows = 9}).status().message()), HasSubstr("rows is 9; from 1 to 8"));
  EXPECT_THAT(std::string(ScheduleConvolution(c, {.threads = 0}).status().message()), HasSubstr("0 virtual threads"));
  EXPECT_THAT(std::string(ScheduleConvolution(c, {.gather_columns = true}).status().message()),
              HasSubstr("no column is skipped"));
}

// SMELT_LAYERS=1000 for a long run.
TEST(Convolution, RandomLayersWithRandomSchedulesAreRight) {
  const char* wanted = std::getenv("SMELT_LAYERS");
  const int layers = wanted == nullptr ? 60 : std::atoi(wanted);
  int ran = 0;
  for (int seed = 0; seed < layers; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
    Config config = Small();
    if (below(4) == 0) {  // another shape of the machine
      config.batch = 2;
      config.block_in = 8;
      config.block_out = below(2) == 0 ? 8 : 16;
    }
    config.token_queue_depth = 1 + below(5);
    config.timing.gemm_raw_distance = 1 + below(4);
    Convolution c;
    c.name = "random";
    c.kernel_height = 1 + below(3);
    c.kernel_width = 1 + below(3);
    c.height = c.kernel_height + below(12);
    c.width = c.kernel_width + below(12);
    c.stride_height = 1 + below(c.kernel_height == 1 ? 3 : c.kernel_height);
    c.stride_width = 1 + below(c.kernel_width == 1 ? 3 : c.kernel_width);
    c.padding = {below(c.kernel_height), below(c.kernel_width), below(c.kernel_height), below(c.kernel_width)};
    c.int8_output = below(2) == 0;
    if (below(3) > 0)
      c.epilogue = RequantizeEpilogue(config.block_in == config.block_out && below(2) == 0, below(2) == 0);
    const int64_t out_channels = 1 + below(40);
    int64_t in_channels = 1 + below(40), images = 1 + below(3);
    if (config.block_in == config.block_out && below(2) == 0) {  // by channel, or the maximum
      c.sum = below(2) == 0 ? Convolution::Sum::kProductsByChannel : Convolution::Sum::kMaximum;
      in_channels = out_channels;
    } else if (config.batch == 1) {
      c.weights_by_image = below(2) == 0;
    }
    const Layer layer = RandomLayer(c, images, in_channels, out_channels, config, random);
    const int64_t threads = std::vector<int64_t>{1, 2, 4}[below(3)];
    const std::vector<ConvolutionSchedule> space = ConvolutionSchedules(layer.convolution, config, threads);
    for (int i = 0; i < 4 && !space.empty(); ++i) {
      ExpectRight(layer, space[below(static_cast<int64_t>(space.size()))], config,
                  i % 2 == 0 ? Timing::kFunctional : Timing::kCycle);
      if (HasFailure()) return;
      ++ran;
    }
  }
  EXPECT_GT(ran, layers);
}

}  // namespace
}  // namespace smelt::vdla::lower

// Kernels compiled by explicit choices: points of configuration spaces, traces; equal schedules once, and no choice
// turns into another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "kernels/config/config.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/targets/cpu/compile/run_compiled.h"

namespace smelt::cpu {
namespace {

using kernels::config::Config;
using kernels::config::ConfigSpace;
using kernels::config::ConfigText;
using kernels::config::KernelTrace;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Target HostTarget() {
  Target target = DetectTarget(/*measure=*/false);
  target.threads = 2;
  return target;
}

struct Layer {
  const char* name;
  const char* entry;
};

// Small relatives of the papers' layers: strided, with three channels, depthwise, pointwise, products of many and of
// few rows.
const Layer kLayers[] = {
    {"Strided", R"(x = f32[1,15,15,24] parameter(0)
  w = f32[3,3,24,40] parameter(1)
  b = f32[40] parameter(2)
  c = f32[1,8,8,40] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  bb = f32[1,8,8,40] broadcast(b), dimensions={3}
  ROOT r = f32[1,8,8,40] add(c, bb))"},
    {"ThreeChannels", R"(x = f32[1,28,28,3] parameter(0)
  w = f32[7,7,3,32] parameter(1)
  ROOT c = f32[1,14,14,32] convolution(x, w), window={size=7x7 stride=2x2 pad=2_3x2_3}, dim_labels=b01f_01io->b01f)"},
    {"Depthwise", R"(x = f32[1,14,14,48] parameter(0)
  w = f32[3,3,1,48] parameter(1)
  c = f32[1,14,14,48] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=48
  ROOT r = f32[1,14,14,48] exponential(c))"},
    {"Pointwise", R"(x = f32[1,14,14,64] parameter(0)
  w = f32[1,1,64,96] parameter(1)
  ROOT c = f32[1,14,14,96] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f)"},
    {"Product", R"(x = f32[60,128] parameter(0)
  w = f32[128,80] parameter(1)
  ROOT p = f32[60,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})"},
    {"Transposed", R"(x = f32[60,128] parameter(0)
  w = f32[80,128] parameter(1)
  ROOT p = f32[60,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1})"},
    {"OneRow", R"(x = f32[1,130] parameter(0)
  w = f32[130,260] parameter(1)
  p = f32[1,260] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[1,260] tanh(p))"},
    {"Batched", R"(x = f32[4,32,24] parameter(0)
  y = f32[4,24,48] parameter(1)
  ROOT p = f32[4,32,48] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1})"},
};

// The inputs' formula makes sums whose terms cancel to a hundredth; orders of summing differ by so much of that.
constexpr double kTolerance = 5e-4;

std::unique_ptr<hlo::Module> ModuleOf(const Layer& layer) {
  return hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e {\n  ", layer.entry, "\n}\n")).value();
}

class PointsOfLayer : public ::testing::TestWithParam<Layer> {};

TEST_P(PointsOfLayer, AgreeWithTheEvaluatorWhenCompiled) {
  const std::unique_ptr<hlo::Module> module = ModuleOf(GetParam());
  const kernels::Reference reference = kernels::MakeReference(*module);
  const Target target = HostTarget();
  const ConfigSpace space = kernels::config::SpaceOf(*module->entry(), target).value();
  std::seed_seq seed{11};
  absl::BitGen bits(seed);
  constexpr int kPoints = 7;
  for (int i = 0; i < kPoints; ++i) {
    const Config config = i == 0 ? space.Default() : space.Random(bits);
    const absl::StatusOr<CompiledRun> run =
        RunCompiled(*module, reference.inputs, target, {.schedule = ConfigText{config.ToString()}});
    ASSERT_TRUE(run.ok()) << config.ToString() << ": " << run.status();
    EXPECT_EQ(run->kernel->tile, config.ToString());
    ASSERT_EQ(kernels::Difference(run->outputs, reference.outputs, kTolerance), "") << config.ToString() << "\n"
                                                                                    << run->kernel->trace;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PointsOfLayer, ::testing::ValuesIn(kLayers),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CompileKernel, CompilesEqualSchedulesOnceHoweverTheyAreChosen) {
  const std::unique_ptr<hlo::Module> module = ModuleOf(kLayers[4]);
  const Target target = HostTarget();
  KernelCache cache;
  const ConfigSpace space = kernels::config::SpaceOf(*module->entry(), target).value();
  const Config config = space.Default();
  const auto by_point =
      CompileKernel(*module->entry(), target, {.schedule = ConfigText{config.ToString()}}, &cache).value();
  const KernelTrace trace{Hash128(), "", "", by_point->trace};
  const auto by_trace = CompileKernel(*module->entry(), target, {.schedule = trace}, &cache).value();
  EXPECT_EQ(by_point->code, by_trace->code);
  EXPECT_EQ(by_point->tile, config.ToString());
  EXPECT_THAT(by_trace->tile, StartsWith("trace "));
}

TEST(CompileKernel, AnExplicitChoiceIsCompiledAsItSaysOrNotAtAll) {
  const std::unique_ptr<hlo::Module> module = ModuleOf(kLayers[4]);
  const Target target = HostTarget();
  const auto error = [&](kernels::config::ScheduleChoice choice) {
    const auto compiled = CompileKernel(*module->entry(), target, {.schedule = std::move(choice)}, nullptr);
    return compiled.ok() ? "compiled as " + (*compiled)->tile : std::string(compiled.status().message());
  };
  EXPECT_THAT(error(kernels::nests::Tile{{1, 2, 3}}), HasSubstr("has 3 extents"));
  EXPECT_THAT(error(ConfigText{"i7=1x1x1"}), HasSubstr("sets no knob"));
  EXPECT_THAT(error(KernelTrace{Hash128(), "", "", "split dot_0 i9 8 guard\n"}), HasSubstr("no loop `i9`"));
  EXPECT_THAT(error(KernelTrace{Hash128(), "", "", "cache_write dot_0 local\n"}), HasSubstr("local"));
}

}  // namespace
}  // namespace smelt::cpu

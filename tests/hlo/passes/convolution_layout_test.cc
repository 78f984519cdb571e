#include "hlo/passes/convolution_layout.h"

#include "hlo/passes/pipeline.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

constexpr char kReducers[] = R"(
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }
)";

absl::StatusOr<bool> LayOutAndSimplify(Module& module) { return RunPasses(module, {"convolution-layout", "simplify"}); }

int Count(const Module& module, Opcode opcode) {
  int count = 0;
  for (const Instruction* instruction : module.entry()->Instructions()) count += instruction->opcode() == opcode;
  return count;
}

std::string LabelsOf(const Module& module) {
  const std::string text = ToText(module);
  std::string labels;
  for (size_t at = 0; (at = text.find("dim_labels=", at)) != std::string::npos;) {
    at += 11;
    labels += (labels.empty() ? "" : " ") + text.substr(at, text.find_first_of(", \n", at) - at);
  }
  return labels;
}

TEST(LayOutConvolutions, PutsFeaturesInnermostAndLeavesTheWeights) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,3,6,5] parameter(0) w = f32[8,3,3,3] parameter(1)
      ROOT r = f32[2,8,6,5] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01 })",
                            LayOutAndSimplify);
  EXPECT_EQ(LabelsOf(*module), "b01f_oi01->b01f");
  EXPECT_EQ(Count(*module, Opcode::kTranspose), 2);
}

TEST(LayOutConvolutions, TransposesANetworkAtItsEndsOnly) {
  const auto module = Apply(std::string(kReducers) + R"(
    ENTRY e {
      x = f32[2,8,6,6] parameter(0) w = f32[8,8,3,3] parameter(1) v = f32[8,8,3,3] parameter(2) b = f32[8] parameter(3)
      z = f32[] constant(0) low = f32[] constant(-inf)
      c = f32[2,8,6,6] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
      bias = f32[2,8,6,6] broadcast(b), dimensions={1}
      s = f32[2,8,6,6] add(c, bias)
      zeros = f32[2,8,6,6] broadcast(z), dimensions={}
      relu = f32[2,8,6,6] maximum(s, zeros)
      residual = f32[2,8,6,6] add(relu, x)
      pool = f32[2,8,3,3] reduce-window(residual, low), window={size=1x1x2x2 stride=1x1x2x2}, to_apply=max
      p = f32[2,8,4,5] pad(pool, z), padding=0_0x0_0x0_1x1_1
      d = f32[2,8,4,5] convolution(p, v), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
      ROOT sum = f32[2,8] reduce(d, z), dimensions={2,3}, to_apply=add
    })",
                            LayOutAndSimplify);
  EXPECT_EQ(LabelsOf(*module), "b01f_oi01->b01f b01f_oi01->b01f");
  EXPECT_EQ(Count(*module, Opcode::kTranspose), 1) << ToText(*module);
}

TEST(LayOutConvolutions, FollowsConcatenationsAlongFeatures) {
  const auto module = Apply(R"(ENTRY e { x = f32[1,8,4,4] parameter(0) w = f32[8,8,3,3] parameter(1)
      v = f32[8,16,3,3] parameter(2)
      a = f32[1,8,4,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
      b = f32[1,8,4,4] negate(a)
      c = f32[1,16,4,4] concatenate(a, b), dimensions={1}
      ROOT r = f32[1,8,4,4] convolution(c, v), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01 })",
                            LayOutAndSimplify);
  EXPECT_EQ(Count(*module, Opcode::kTranspose), 2) << ToText(*module);
}

TEST(LayOutConvolutions, GradientsOfWeightsSumOverPictures) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,4,7,6] parameter(0) g = f32[2,8,7,6] parameter(1)
      ROOT r = f32[8,4,3,3] convolution(x, g), window={size=7x6 pad=1_1x1_1}, dim_labels=fb01_io01->fb01 })",
                            LayOutAndSimplify);
  EXPECT_EQ(LabelsOf(*module), "f01b_i01o->01bf");
}

TEST(LayOutConvolutions, GradientsOfGroupsToo) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,8,7,6] parameter(0) g = f32[2,8,7,6] parameter(1)
      ROOT r = f32[8,2,3,3] convolution(x, g), window={size=7x6 pad=1_1x1_1}, dim_labels=fb01_io01->fb01, batch_group_count=4 })",
                            LayOutAndSimplify);
  EXPECT_EQ(LabelsOf(*module), "f01b_i01o->01bf");
}

TEST(LayOutConvolutions, AResultWithItsFeaturesInnermostStays) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,4,7,6] parameter(0) g = f32[2,8,7,6] parameter(1)
      ROOT r = f32[3,3,4,8] convolution(x, g), window={size=7x6 pad=1_1x1_1}, dim_labels=fb01_io01->01bf })",
                            LayOutAndSimplify);
  EXPECT_EQ(LabelsOf(*module), "f01b_i01o->01bf");
  EXPECT_EQ(Count(*module, Opcode::kTranspose), 2);
  // What follows it has nothing to follow.
  Apply(R"(ENTRY e { x = f32[2,4,5,6] parameter(0) w = f32[8,4,1,2] parameter(1) z = f32[] constant(0.5)
      c = f32[8,6,5,2] convolution(x, w), window={size=1x2 pad=0_0x0_1}, dim_labels=bf01_oi01->f10b
      b = f32[8,6,5,2] broadcast(z), dimensions={}
      ROOT r = f32[8,6,5,2] add(c, b) })",
        LayOutAndSimplify);
}

TEST(LayOutConvolutions, GradientsOfPoolingsFollow) {
  const auto module = Apply(std::string(kReducers) + R"(
    ENTRY e { x = f32[1,8,4,4] parameter(0) w = f32[8,8,3,3] parameter(1) g = f32[1,8,2,2] parameter(2)
      z = f32[] constant(0)
      c = f32[1,8,4,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
      h = f32[1,8,2,2] convolution(g, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
      s = f32[1,8,4,4] select-and-scatter(c, h, z), window={size=1x1x2x2 stride=1x1x2x2}, select=ge, scatter=add
      ROOT r = f32[1,8,4,4] convolution(s, w), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=bf01_io01->bf01 })",
                            LayOutAndSimplify);
  EXPECT_EQ(Count(*module, Opcode::kTranspose), 3) << ToText(*module);
}

TEST(LayOutConvolutions, LeavesWhatIsFastAsItIs) {
  // Features innermost already; depthwise; of one element; of few features.
  Apply(R"(ENTRY e { x = f32[1,4,4,8] parameter(0) w = f32[3,3,8,8] parameter(1)
      ROOT r = f32[1,4,4,8] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f })",
        LayOutConvolutions, false);
  Apply(R"(ENTRY e { x = f32[1,8,4,4] parameter(0) w = f32[8,1,3,3] parameter(1)
      ROOT r = f32[1,8,4,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=8 })",
        LayOutConvolutions, false);
  Apply(R"(ENTRY e { x = f32[1,8,4,4] parameter(0) w = f32[8,8,1,1] parameter(1)
      ROOT r = f32[1,8,4,4] convolution(x, w), window={size=1x1}, dim_labels=bf01_oi01->bf01 })",
        LayOutConvolutions, false);
  Apply(R"(ENTRY e { x = f32[1,8,4,4] parameter(0) w = f32[3,8,3,3] parameter(1)
      ROOT r = f32[1,3,4,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01 })",
        LayOutConvolutions, false);
}

}  // namespace
}  // namespace smelt::hlo

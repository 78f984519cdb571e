#include "hlo/passes/batch_norm_expander.h"

#include "hlo/passes/dead_code.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

void ExpectExpanded(std::string_view text, double tolerance = 2e-5) {
  const auto before = Parse(text);
  const auto after = before->Clone();
  ASSERT_TRUE(*ExpandBatchNorm(*after));
  ASSERT_TRUE(VerifyModule(*after).ok()) << VerifyModule(*after);
  EXPECT_EQ(OpcodesOf(*after).find("batch-norm"), std::string::npos);
  ExpectSameResults(*before, *after, tolerance);
  EXPECT_FALSE(*ExpandBatchNorm(*after));
}

TEST(ExpandBatchNorm, Inference) {
  ExpectExpanded(
      R"(ENTRY e { x = f32[2,3,4,5] parameter(0) s = f32[5] parameter(1) o = f32[5] parameter(2) m = f32[5] parameter(3)
      w = f32[5] parameter(4) v = f32[5] multiply(w, w)
      ROOT r = f32[2,3,4,5] batch-norm-inference(x, s, o, m, v), epsilon=0.001, feature_index=3 })");
}

TEST(ExpandBatchNorm, InferenceOfTheSecondDimensionInF64) {
  ExpectExpanded(
      R"(ENTRY e { x = f64[2,3,4] parameter(0) s = f64[3] parameter(1) o = f64[3] parameter(2) m = f64[3] parameter(3)
      w = f64[3] parameter(4) v = f64[3] multiply(w, w)
      ROOT r = f64[2,3,4] batch-norm-inference(x, s, o, m, v), epsilon=0.001, feature_index=1 })");
}

TEST(ExpandBatchNorm, Training) {
  ExpectExpanded(R"(ENTRY e { x = f32[4,3,4,5] parameter(0) s = f32[5] parameter(1) o = f32[5] parameter(2)
      ROOT r = (f32[4,3,4,5], f32[5], f32[5]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=3 })");
}

TEST(ExpandBatchNorm, Gradient) {
  ExpectExpanded(
      R"(ENTRY e { x = f32[4,3,4,5] parameter(0) s = f32[5] parameter(1) m = f32[5] parameter(2) w = f32[5] parameter(3)
      g = f32[4,3,4,5] parameter(4) one = f32[] constant(1) b = f32[5] broadcast(one), dimensions={} q = f32[5] multiply(w, w)
      v = f32[5] add(q, b)
      ROOT r = (f32[4,3,4,5], f32[5], f32[5]) batch-norm-grad(x, s, m, v, g), epsilon=0.001, feature_index=3 })",
      1e-4);
}

// The deviation of a negative variance is no number, which XLA shows also in sums that have nothing to sum.
TEST(ExpandBatchNorm, GradientOfNothing) {
  ExpectExpanded(
      R"(ENTRY e { x = f32[0,4] parameter(0) s = f32[4] parameter(1) m = f32[4] parameter(2) v = f32[4] constant({-1, 1, -2, 0})
      g = f32[0,4] parameter(3)
      ROOT r = (f32[0,4], f32[4], f32[4]) batch-norm-grad(x, s, m, v, g), epsilon=0.001, feature_index=1 })");
}

TEST(ExpandBatchNorm, HalfPrecisionComputesInF32) {
  ExpectExpanded(R"(ENTRY e { x = bf16[8,5] parameter(0) s = bf16[5] parameter(1) o = bf16[5] parameter(2)
      ROOT r = (bf16[8,5], bf16[5], bf16[5]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1 })",
                 0.02);
}

}  // namespace
}  // namespace smelt::hlo

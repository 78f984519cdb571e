#include "measure/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::measure {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Verifier> VerifierOf(const std::string& body) {
  const auto module = hlo::ParseModule("HloModule m\n\nENTRY e {\n" + body + "}\n").value();
  return Verifier::Create(*module, 0, nullptr).value();
}

constexpr char kNormalisation[] =
    "  x = f32[4,8] parameter(0)\n  v = f32[8] parameter(1)\n  r = f32[8] rsqrt(v)\n"
    "  b = f32[4,8] broadcast(r), dimensions={1}\n  ROOT y = f32[4,8] multiply(x, b)\n";

TEST(Verifier, TakesInputsThatGiveFiniteResults) {
  // Half of the variances would be negative under -1 to 1.
  const auto verifier = VerifierOf(kNormalisation);
  EXPECT_EQ(verifier->inputs().kind, InputKind::kScaled);
  EXPECT_EQ(verifier->finite(), 1);
  EXPECT_EQ(VerifierOf("  v = f32[1,1,1,64] parameter(0)\n  ROOT y = f32[1,1,1,64] rsqrt(v)\n")->inputs().kind,
            InputKind::kScaled);
  // A matrix whose logarithm is taken needs positive numbers.
  EXPECT_EQ(VerifierOf("  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] log(x)\n")->inputs().kind,
            InputKind::kPositive);
}

// A row that is not there is NaN, as `jnp.take` has it.
TEST(Verifier, ChoosesRowsThatAreThere) {
  const auto verifier = VerifierOf(
      "  t = f32[2,16] parameter(0)\n  i = s32[6,1] parameter(1)\n  one = s32[] constant(1)\n"
      "  ones = s32[6,1] broadcast(one), dimensions={}\n  in = pred[6,1] compare(i, ones), direction=LE\n"
      "  flat = pred[6] reshape(in)\n  all = pred[6,16] broadcast(flat), dimensions={0}\n"
      "  g = f32[6,16] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,16}\n"
      "  none = f32[] constant(nan)\n  nones = f32[6,16] broadcast(none), dimensions={}\n"
      "  ROOT y = f32[6,16] select(all, g, nones)\n");
  EXPECT_EQ(verifier->finite(), 1);
  EXPECT_EQ(verifier->inputs().kind, InputKind::kScaled);
}

TEST(Verifier, FindsAWrongNumberAmongNormalisedOnes) {
  const auto verifier = VerifierOf(kNormalisation);
  const hlo::Literal zeros(hlo::Shape::Array(hlo::PrimitiveType::kF32, {4, 8}));
  EXPECT_THAT(verifier->Compare({zeros}), HasSubstr("out.0: error"));
}

TEST(Verifier, SaysWhereNoInputsGiveAFiniteResult) {
  const auto verifier =
      VerifierOf("  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n  ROOT y = f32[4] divide(b, b)\n");
  EXPECT_EQ(verifier->finite(), 0);
  EXPECT_EQ(verifier->Compare({hlo::Literal(hlo::Shape::Array(hlo::PrimitiveType::kF32, {4}))}), "");
}

// The mean is subtracted again: the second result is zero but for rounding, the first is not.
TEST(Verifier, AResultThatRoundingDecidesIsComparedWithinWhatRoundingDoes) {
  const std::string text =
      "HloModule m\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
      "ENTRY e {\n  x = f32[8,64] parameter(0)\n  z = f32[] constant(0)\n  s = f32[8] reduce(x, z), dimensions={1}, "
      "to_apply=sum\n  n = f32[] constant(0.015625)\n  nb = f32[8] broadcast(n), dimensions={}\n  m = f32[8] "
      "multiply(s, nb)\n  mb = f32[8,64] broadcast(m), dimensions={0}\n  d = f32[8,64] subtract(x, mb)\n  r = f32[8] "
      "reduce(d, z), dimensions={1}, to_apply=sum\n  ROOT t = (f32[8], f32[8]) tuple(s, r)\n}\n";
  const auto module = hlo::ParseModule(text).value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  const auto sums = verifier->expected()[0];
  hlo::Literal noise(hlo::Shape::Array(hlo::PrimitiveType::kF32, {8}));
  for (int i = 0; i < 8; ++i) noise.data<float>()[i] = 1e-6F * static_cast<float>(i - 4);
  EXPECT_THAT(verifier->Compare({sums, noise}), HasSubstr("out.1: error"));
  const auto noisy = verifier->LearnNoise({sums, noise}, 1, 0, nullptr).value();
  ASSERT_EQ(noisy.size(), 1);
  EXPECT_THAT(noisy[0], HasSubstr("out.1 is compared within"));
  EXPECT_EQ(verifier->Compare({sums, noise}), "");
  hlo::Literal wrong = sums;
  wrong.data<float>()[3] += 1;
  EXPECT_THAT(verifier->Compare({wrong, noise}), HasSubstr("out.0: error")) << "the other result is compared as before";
  hlo::Literal large = noise;
  large.data<float>()[3] = 1;
  EXPECT_THAT(verifier->Compare({sums, large}), HasSubstr("out.1: error")) << "rounding does not make a whole";
}

// Three or so of 4096 gradients pass a ReLU whose argument lies next to zero: sums in another order let them pass or
// not, and no digits of a gradient that passes anyway show that.
TEST(Verifier, AGateThatRoundingOpensIsNoise) {
  const auto module =
      hlo::ParseModule(
          "HloModule m\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
          "ENTRY e {\n  x = f32[4096,8] parameter(0)\n  g = f32[4096] parameter(1)\n  z = f32[] constant(0)\n  s = "
          "f32[4096] reduce(x, z), dimensions={1}, to_apply=sum\n  i = s32[4096] iota(), iota_dimension=0\n  k = s32[] "
          "constant(1000)\n  ks = s32[4096] broadcast(k), dimensions={}\n  q = s32[4096] remainder(i, ks)\n  c0 = "
          "s32[] "
          "constant(7)\n  cs = s32[4096] broadcast(c0), dimensions={}\n  near = pred[4096] compare(q, cs), "
          "direction=EQ\n  t = f32[] constant(1e-7)\n  ts = f32[4096] broadcast(t), dimensions={}\n  st = f32[4096] "
          "multiply(s, ts)\n  y = f32[4096] select(near, st, s)\n  zs = f32[4096] broadcast(z), dimensions={}\n  open "
          "= "
          "pred[4096] compare(y, zs), direction=GT\n  ROOT r = f32[4096] select(open, g, zs)\n}\n")
          .value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  hlo::Literal other = verifier->expected()[0], wrong = other;
  const auto toggle = [&](hlo::Literal* result, int i) {
    float& value = result->data<float>()[i];
    value = value == 0 ? 0.5F : 0;
  };
  toggle(&other, 1007);
  EXPECT_THAT(verifier->Compare({other}), HasSubstr("out.0: error"));
  const auto noisy = verifier->LearnNoise({other}, 1, 0, nullptr).value();
  ASSERT_EQ(noisy.size(), 1);
  EXPECT_EQ(verifier->Compare({other}), "");
  for (int i = 0; i < 4096; i += 10) toggle(&wrong, i);
  EXPECT_THAT(verifier->Compare({wrong}), HasSubstr("out.0: error")) << "gates far from zero stay as they are";
}

// What is exact is so in any order: masks, whole numbers, equal numbers that are compared, the largest and its place.
TEST(Verifier, WhatIsExactIsNoNoise) {
  const auto module =
      hlo::ParseModule(
          "HloModule m\n\nmax {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
          "b)\n}\n\nENTRY e {\n  x = f32[64,32] parameter(0)\n  z = f32[] constant(-inf)\n  m = f32[64] reduce(x, z), "
          "dimensions={1}, to_apply=max\n  mb = f32[64,32] broadcast(m), dimensions={0}\n  top = pred[64,32] "
          "compare(x, "
          "mb), direction=GE\n  i = f32[64,32] iota(), iota_dimension=1\n  h = f32[] constant(0.5)\n  hs = f32[64,32] "
          "broadcast(h), dimensions={}\n  half = f32[64,32] multiply(i, hs)\n  f = f32[64,32] floor(half)\n  big = "
          "pred[64,32] compare(half, f), direction=GT\n  none = f32[64,32] subtract(f, f)\n  a = f32[64,32] "
          "select(top, f, "
          "none)\n  b = f32[64,32] select(big, half, a)\n  ROOT r = (f32[64,32], f32[64,32]) tuple(a, b)\n}\n")
          .value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  std::vector<hlo::Literal> wrong = verifier->expected();
  wrong[0].data<float>()[5] += 1;
  EXPECT_THAT(verifier->LearnNoise(wrong, 1, 0, nullptr).value(), testing::IsEmpty());
}

// A kernel computed by Winograd's algorithm declares four times the error of others, and nobody else has it.
TEST(Verifier, OnlyADeclaredErrorIsAllowedAndNoLarger) {
  const auto module =
      hlo::ParseModule("HloModule m\n\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n}\n").value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  const auto wrong_by = [&](double tolerances) {
    hlo::Literal result = verifier->expected()[0];
    const double by = tolerances * VerifyTolerance(hlo::PrimitiveType::kF32);
    for (float& value : result.data<float>()) value *= static_cast<float>(1 + by);
    return result;
  };
  EXPECT_EQ(verifier->Compare({wrong_by(0.9)}), "");
  EXPECT_THAT(verifier->Compare({wrong_by(3)}), HasSubstr("out.0: error"));
  EXPECT_EQ(verifier->Compare({wrong_by(3)}, 4), "");
  EXPECT_THAT(verifier->Compare({wrong_by(5)}, 4), HasSubstr("out.0: error"));
}

TEST(Verifier, NoErrorIsDeclaredForIntegers) {
  const auto module =
      hlo::ParseModule("HloModule m\n\nENTRY e {\n  x = s32[8] parameter(0)\n  ROOT y = s32[8] add(x, x)\n}\n").value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  hlo::Literal wrong = verifier->expected()[0];
  wrong.data<int32_t>()[3] += 1;
  EXPECT_THAT(verifier->Compare({wrong}, 1000), HasSubstr("out.0: error"));
}

// Odd numbers are halved and rounded to whole ones: the last digit of a half decides. The inputs' digits do not show
// it.
TEST(Verifier, RoundingsToWholeNumbersThatGoTheOtherWayAreNoise) {
  const auto module =
      hlo::ParseModule(
          "HloModule m\n\nENTRY e {\n  p = f32[512] parameter(0)\n  t = f32[] constant(1e-30)\n  ts = f32[512] "
          "broadcast(t), dimensions={}\n  q = f32[512] multiply(p, ts)\n  i = f32[512] iota(), iota_dimension=0\n  h = "
          "f32[] constant(0.5)\n  hs = f32[512] broadcast(h), dimensions={}\n  half = f32[512] multiply(i, hs)\n  x = "
          "f32[512] add(half, q)\n  r = f32[512] round-nearest-even(x)\n  ROOT y = f32[512] multiply(r, hs)\n}\n")
          .value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  hlo::Literal other = verifier->expected()[0];
  for (const int i : {5, 57, 121}) other.data<float>()[i] += 0.5F;  // 2.5 to 3 instead of 2
  EXPECT_THAT(verifier->Compare({other}), HasSubstr("out.0: error"));
  const auto noisy = verifier->LearnNoise({other}, 1, 0, nullptr).value();
  ASSERT_EQ(noisy.size(), 1);
  EXPECT_THAT(noisy[0], HasSubstr("rounding moves it"));
  EXPECT_EQ(verifier->Compare({other}), "");
  for (int i = 0; i < 512; ++i) other.data<float>()[i] += 6;  // a dozen steps everywhere
  EXPECT_THAT(verifier->Compare({other}), HasSubstr("out.0: error")) << "a rounding is one step";
}

TEST(Verifier, AResultOfAnotherImplementationIsTrustedWhereItIsNear) {
  const auto module =
      hlo::ParseModule("HloModule m\n\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n}\n").value();
  const auto verifier = Verifier::Create(*module, 0, nullptr).value();
  const auto scaled = [&](float factor) {
    hlo::Literal result = verifier->expected()[0];
    for (float& value : result.data<float>()) value *= factor;
    return result;
  };
  EXPECT_TRUE(verifier->Trust({scaled(1.1F)}, "its result").empty()) << "too far away";
  EXPECT_THAT(verifier->Compare({scaled(1.0005F)}), HasSubstr("out.0: error"));
  EXPECT_EQ(verifier->Trust({scaled(1.0005F)}, "its result").size(), 1);
  EXPECT_EQ(verifier->Compare({scaled(0.9995F)}), "");
  EXPECT_THAT(verifier->Compare({scaled(1.002F)}), HasSubstr("out.0: error"));
}

TEST(InputKinds, AreReadByTheirNames) {
  for (const InputKind kind : kInputKinds) EXPECT_EQ(ParseInputKind(InputKindName(kind)).value(), kind);
  EXPECT_THAT(ParseInputKind("random").status().message(), HasSubstr("random"));
}

}  // namespace
}  // namespace smelt::measure

// Random bits, transforms and factorisations.
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "hlo/golden/inputs.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;

Literal U64(std::vector<uint64_t> values) {
  return Literal::FromValues<uint64_t>(PrimitiveType::kU64, {static_cast<int64_t>(values.size())}, values);
}

// The known answers of the authors' library (Random123, kat_vectors) for counter and key zero.
TEST(EvaluateRandom, ThreeFryAndPhiloxGiveTheirKnownAnswers) {
  auto threefry = EvaluateText(
      "ENTRY e { s = u64[2] parameter(0)  ROOT r = (u64[2], u64[1]) rng-bit-generator(s), algorithm=rng_three_fry }",
      {U64({0, 0})});
  ASSERT_TRUE(threefry.ok()) << threefry.status();
  EXPECT_EQ(threefry->elements()[1].data<uint64_t>()[0], 0x99ba4efe6b200159);
  EXPECT_THAT(Values(threefry->elements()[0]), ElementsAre(0, 1));
  auto philox = EvaluateText(
      "ENTRY e { s = u64[3] parameter(0)  ROOT r = (u64[3], u32[4]) rng-bit-generator(s), algorithm=rng_philox }",
      {U64({0, 0, 0})});
  ASSERT_TRUE(philox.ok()) << philox.status();
  EXPECT_THAT(Values(philox->elements()[1]), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Values(philox->elements()[0]), ElementsAre(0, 1, 0));
}

// The words are XLA's own for the same states.
TEST(EvaluateRandom, AStateOfTwoWordsTakesItsKeyForTheUpperCounter) {
  for (const char* algorithm : {"rng_philox", "rng_default"}) {
    const std::string text =
        "ENTRY e { s = u64[2] parameter(0)  ROOT r = (u64[2], u32[5]) rng-bit-generator(s), algorithm=";
    auto result = EvaluateText(text + algorithm + " }", {U64({0x100000002, ~uint64_t{0}})});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(Values(result->elements()[0]), ElementsAre(0x100000002, 1));
    EXPECT_THAT(Values(result->elements()[1]), ElementsAre(0xee44ca94, 0xf27db698, 0x2f546f30, 0xe60b55b8, 0xbee8ba82));
  }
}

TEST(EvaluateRandom, FloatsAreRandomBits) {
  auto result = EvaluateText(
      "ENTRY e { s = u64[2] parameter(0)  r = (u64[2], f32[5]) rng-bit-generator(s), algorithm=rng_three_fry "
      "f = f32[5] get-tuple-element(r), index=1  ROOT b = u32[5] bitcast-convert(f) }",
      {U64({0x100000002, ~uint64_t{0}})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(*result), ElementsAre(0xbea8f642, 0x250582cc, 0x77d0ac2d, 0x032b3436, 0xc4c90a8d));
}

TEST(EvaluateRandom, CountersCarryIntoTheHighWord) {
  auto result = EvaluateText(
      "ENTRY e { s = u64[3] parameter(0)  ROOT r = (u64[3], u32[8]) rng-bit-generator(s), algorithm=rng_philox }",
      {U64({5, ~uint64_t{0}, 6})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->elements()[0].data<uint64_t>()[1], 1);
  EXPECT_EQ(result->elements()[0].data<uint64_t>()[2], 7);
}

TEST(EvaluateFft, LengthsOfEveryKindMatchTheDefinition) {
  for (int64_t n : {1, 2, 7, 8, 12, 31}) {
    const Literal x = MakeInput(Shape::Array(PrimitiveType::kC128, {2, n}), 0, {-1, 1}).value();
    const std::string shape = "c128[2," + std::to_string(n) + "]", length = std::to_string(n);
    auto result = EvaluateText("ENTRY e { x = " + shape + " parameter(0)  ROOT r = " + shape +
                                   " fft(x), fft_type=FFT, fft_length={" + length + "} }",
                               {x});
    ASSERT_TRUE(result.ok()) << result.status();
    for (int64_t k = 0; k < n; ++k) {
      std::complex<double> want = 0;
      for (int64_t i = 0; i < n; ++i)
        want += x.GetComplex(n + i) *
                std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k) / static_cast<double>(n));
      EXPECT_LT(std::abs(result->GetComplex(n + k) - want), 1e-10) << n;
    }
    auto back =
        EvaluateText("ENTRY e { x = " + shape + " parameter(0)  f = " + shape + " fft(x), fft_type=FFT, fft_length={" +
                         length + "}  ROOT r = " + shape + " fft(f), fft_type=IFFT, fft_length={" + length + "} }",
                     {x});
    ASSERT_TRUE(back.ok());
    for (int64_t i = 0; i < 2 * n; ++i) EXPECT_LT(std::abs(back->GetComplex(i) - x.GetComplex(i)), 1e-12);
  }
}

TEST(EvaluateFft, RealTransformsInTwoDimensionsRoundTrip) {
  const Literal x = MakeInput(Shape::Array(PrimitiveType::kF64, {3, 6, 10}), 0, {-1, 1}).value();
  const auto back =
      EvaluateValues(R"(ENTRY e { x = f64[3,6,10] parameter(0)  f = c128[3,6,6] fft(x), fft_type=RFFT, fft_length={6,10}
    ROOT r = f64[3,6,10] fft(f), fft_type=IRFFT, fft_length={6,10} })",
                     {x});
  ASSERT_EQ(back.size(), 180);
  for (int64_t i = 0; i < 180; ++i) EXPECT_NEAR(back[i], x.GetDouble(i), 1e-12);
}

TEST(EvaluateLinearAlgebra, CholeskyAndTriangularSolveInvertEachOther) {
  // a = m m^T + 4 I; x with a x = b by two solves.
  auto residual = EvaluateValues(R"(ENTRY e { m = f64[5,5] parameter(0)  b = f64[5,2] parameter(1)
      p = f64[5,5] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      i = s32[5,5] iota(), iota_dimension=0  j = s32[5,5] iota(), iota_dimension=1  d = pred[5,5] compare(i, j), direction=EQ
      four = f64[] constant(4)  f = f64[5,5] broadcast(four), dimensions={}  zero = f64[] constant(0)  z = f64[5,5] broadcast(zero), dimensions={}
      s = f64[5,5] select(d, f, z)  a = f64[5,5] add(p, s)
      l = f64[5,5] cholesky(a), lower=true
      y = f64[5,2] triangular-solve(l, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
      x = f64[5,2] triangular-solve(l, y), left_side=true, lower=true, transpose_a=TRANSPOSE
      c = f64[5,2] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT r = f64[5,2] subtract(c, b) })",
                                 {MakeInput(Shape::Array(PrimitiveType::kF64, {5, 5}), 0, {-1, 1}).value(),
                                  MakeInput(Shape::Array(PrimitiveType::kF64, {5, 2}), 1, {-1, 1}).value()});
  ASSERT_EQ(residual.size(), 10);
  for (double value : residual) EXPECT_NEAR(value, 0, 1e-12);
}

TEST(EvaluateLinearAlgebra, CholeskyOfAnIndefiniteMatrixIsNaN) {
  auto values =
      EvaluateValues("ENTRY e { a = f32[2,2] constant({{1, 2}, {2, 1}})  ROOT l = f32[2,2] cholesky(a), lower=true }");
  EXPECT_TRUE(std::isnan(values[0]));
}

TEST(EvaluateBatchNorm, TrainingNormalisesEachFeature) {
  auto result =
      EvaluateText(R"(ENTRY e { x = f32[4,2] parameter(0)  s = f32[2] constant({1, 2})  o = f32[2] constant({0, 10})
    ROOT r = (f32[4,2], f32[2], f32[2]) batch-norm-training(x, s, o), epsilon=0, feature_index=1 })",
                   {F32({4, 2}, {1, 10, 2, 10, 3, 20, 4, 20})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(result->elements()[1]), ElementsAre(2.5, 15));
  EXPECT_THAT(Values(result->elements()[2]), ElementsAre(1.25, 25));
  EXPECT_NEAR(result->elements()[0].GetDouble(1), 8, 1e-6);
  EXPECT_NEAR(result->elements()[0].GetDouble(6), 1.5 / std::sqrt(1.25), 1e-6);
}

}  // namespace
}  // namespace smelt::hlo

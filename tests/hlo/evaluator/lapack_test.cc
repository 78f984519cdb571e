// What JAX hands to LAPACK on a CPU, checked by putting the factors together again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Literal Matrix(std::vector<int64_t> dimensions, const std::vector<float>& values) {
  return Literal::FromValues<float>(PrimitiveType::kF32, std::move(dimensions), values);
}

TEST(LapackTest, CholeskyOfEachMatrixOfABatch) {
  const auto result = EvaluateText(R"(HloModule m
ENTRY e {
  a = f32[2,2,2] parameter(0)
  c = (f32[2,2,2]{1,2,0}, s32[2]{0}) custom-call(a), custom_call_target="lapack_spotrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  l = f32[2,2,2]{1,2,0} get-tuple-element(c), index=0
  i = s32[2] get-tuple-element(c), index=1
  ROOT t = (f32[2,2,2]{1,2,0}, s32[2]) tuple(l, i)
})",
                                   {Matrix({2, 2, 2}, {4, 2, 2, 5, -1, 0, 0, 1})});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto l = result->elements()[0].data<float>();
  EXPECT_FLOAT_EQ(l[0], 2);
  EXPECT_FLOAT_EQ(l[2], 1);
  EXPECT_FLOAT_EQ(l[3], 2);
  EXPECT_EQ(result->elements()[1].GetInteger(0), 0);
  EXPECT_EQ(result->elements()[1].GetInteger(1), 1) << "the first minor of the second matrix is negative";
}

TEST(LapackTest, MatricesWithoutElementsHaveFactorsToo) {
  const auto result = EvaluateText(R"(HloModule m
ENTRY e {
  a = f32[2,0,0] parameter(0)
  ROOT f = (f32[2,0,0], s32[2,0], s32[2]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
})",
                                   {Matrix({2, 0, 0}, {})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->elements()[2].GetInteger(0), 0);
  EXPECT_EQ(result->elements()[2].GetInteger(1), 0);
}

TEST(LapackTest, ReflectionsAndTheirProductGiveTheMatrixBack) {
  const auto result = EvaluateText(R"(HloModule m
ENTRY e {
  a = f32[3,2] parameter(0)
  f = (f32[3,2], f32[2]) custom-call(a), custom_call_target="lapack_sgeqrf_ffi", backend_config={}
  h = f32[3,2] get-tuple-element(f), index=0
  s = f32[2] get-tuple-element(f), index=1
  q = f32[3,2] custom-call(h, s), custom_call_target="lapack_sorgqr_ffi", backend_config={}
  square = f32[2,2] slice(h), slice={[0:2], [0:2]}
  row = s32[2,2] iota(), iota_dimension=0
  column = s32[2,2] iota(), iota_dimension=1
  upper = pred[2,2] compare(row, column), direction=LE
  zero = f32[] constant(0)
  zeros = f32[2,2] broadcast(zero), dimensions={}
  r = f32[2,2] select(upper, square, zeros)
  ROOT d = f32[3,2] dot(q, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                                   {Matrix({3, 2}, {1, 2, 3, 4, 5, -6})});
  ASSERT_TRUE(result.ok()) << result.status();
  const float expected[] = {1, 2, 3, 4, 5, -6};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(result->data<float>()[i], expected[i], 1e-5);
}

TEST(LapackTest, ProductsWithReflectionsUndoThem) {
  for (const bool left : {true, false}) {
    const char* shape = left ? "f32[3,4]" : "f32[4,3]";
    const auto result = EvaluateText(
        absl::StrCat(
            "HloModule m\nENTRY e {\n  a = f32[3,2] parameter(0)\n  c = ", shape,
            " parameter(1)\n  f = (f32[3,2], f32[2]) custom-call(a), custom_call_target=\"lapack_sgeqrf_ffi\"\n",
            "  h = f32[3,2] get-tuple-element(f), index=0\n  s = f32[2] get-tuple-element(f), index=1\n  q = ", shape,
            " custom-call(h, s, c), custom_call_target=\"lapack_sormqr_ffi\", backend_config={left = ",
            left ? "true" : "false", ", transpose = false}\n  b = ", shape,
            " custom-call(h, s, q), custom_call_target=\"lapack_sormqr_ffi\", backend_config={left = ",
            left ? "true" : "false", ", transpose = true}\n  ROOT t = (", shape, ", ", shape, ") tuple(q, b)\n}\n"),
        {Matrix({3, 2}, {1, 2, 3, 4, 5, -6}), Matrix(left ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{4, 3},
                                                     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})});
    ASSERT_TRUE(result.ok()) << result.status();
    bool changed = false;
    for (int i = 0; i < 12; ++i) {
      EXPECT_NEAR(result->elements()[1].data<float>()[i], i + 1, 1e-5);
      changed |= std::abs(result->elements()[0].data<float>()[i] - static_cast<float>(i + 1)) > 0.1;
    }
    EXPECT_TRUE(changed);
  }
}

TEST(LapackTest, SingularValuesWithAndWithoutVectors) {
  for (const auto& [routine, mode, left, right] :
       {std::tuple{"gesdd", 65, 3, 2}, std::tuple{"gesdd", 83, 2, 2}, std::tuple{"gesdd", 78, 3, 2},
        std::tuple{"gesvd", 65, 3, 2}, std::tuple{"gesvd", 83, 2, 2}, std::tuple{"gesvd", 78, 3, 2}}) {
    const auto result = EvaluateText(
        absl::StrCat("HloModule m\nENTRY e {\n  a = f32[3,2] parameter(0)\n  ROOT c = (f32[3,2], f32[2], f32[3,", left,
                     "], f32[", right, ",2], s32[]) custom-call(a), custom_call_target=\"lapack_s", routine,
                     "_ffi\", backend_config={mode = ", mode, " : ui8}\n}\n"),
        {Matrix({3, 2}, {3, 0, 0, -2, 0, 0})});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->elements()[1].data<float>()[0], 3, 1e-5);
    EXPECT_NEAR(result->elements()[1].data<float>()[1], 2, 1e-5);
  }
}

TEST(LapackTest, EigenvaluesOfARotationAreAConjugatePair) {
  const auto result = EvaluateText(R"(HloModule m
ENTRY e {
  a = f32[2,2] parameter(0)
  ROOT c = (f32[2], f32[2], c64[2,2], c64[2,2], s32[]) custom-call(a), custom_call_target="lapack_sgeev_ffi", backend_config={compute_left = 78 : ui8, compute_right = 86 : ui8}
})",
                                   {Matrix({2, 2}, {0, -1, 1, 0})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->elements()[0].data<float>()[0], 0, 1e-6);
  EXPECT_NEAR(std::abs(result->elements()[1].data<float>()[0]), 1, 1e-6);
  const Literal& vectors = result->elements()[3];  // a column each: (1, -+i) up to a factor
  for (int j = 0; j < 2; ++j) {
    const std::complex<double> ratio = vectors.GetComplex(2 + j) / vectors.GetComplex(j);
    EXPECT_NEAR(ratio.real(), 0, 1e-6);
    EXPECT_NEAR(ratio.imag(), -result->elements()[1].data<float>()[j], 1e-6);
  }
}

TEST(LapackTest, MatricesThatAreNotFiniteAreAnsweredWithNaNs) {
  const auto result = EvaluateText(R"(HloModule m
ENTRY e {
  a = f32[2,2] parameter(0)
  ROOT c = (f32[2,2], f32[2], s32[]) custom-call(a), custom_call_target="lapack_ssyevd_ffi", backend_config={mode = 86 : ui8, uplo = 76 : ui8}
})",
                                   {Matrix({2, 2}, {1, 2, kNaN, 1})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isnan(result->elements()[1].data<float>()[0]));
  EXPECT_NE(result->elements()[2].GetInteger(0), 0);
}

TEST(LapackTest, ShapesOtherThanTheRoutinesAreRefused) {
  struct Case {
    const char *call, *message;
  };
  const Case cases[] = {
      {"(f32[2,2], s32[]) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\"",
       "spotrf wants a square matrix, not 3 rows and 2 columns"},
      {"(f32[9,9], f32[2]) custom-call(a), custom_call_target=\"lapack_sgeqrf_ffi\"", "result 0 is f32[9,9]"},
      {"(f32[3,2], f32[2]) custom-call(a), custom_call_target=\"lapack_dgeqrf_ffi\"", "expected f64[3,2]"},
      {"f32[3,2] custom-call(a), custom_call_target=\"lapack_sorgqr_ffi\"", "1 operands, expected 2"},
      {"f32[3,2] custom-call(a, a, a), custom_call_target=\"lapack_sormqr_ffi\"", "sormqr wants no more reflections"},
      {"f32[3,2] custom-call(a), custom_call_target=\"lapack_snothing_ffi\"", "lapack_snothing_ffi"},
  };
  for (const Case& c : cases) {
    const auto result =
        EvaluateText(absl::StrCat("HloModule m\nENTRY e {\n  a = f32[3,2] parameter(0)\n  ROOT c = ", c.call, "\n}\n"),
                     {Matrix({3, 2}, {1, 2, 3, 4, 5, 6})});
    ASSERT_FALSE(result.ok()) << c.call;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace smelt::hlo

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "hlo/golden/inputs.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;

const char kAdd[] = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n";

TEST(EvaluateReduce, EverySetOfDimensionsMatchesPlainLoops) {
  const std::vector<int64_t> dims = {3, 5, 2, 17};
  const Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, dims), 0, {-1, 1}).value();
  for (int mask = 1; mask < 16; ++mask) {
    std::string reduced, kept;
    std::vector<int64_t> kept_dims;
    for (int d = 0; d < 4; ++d) {
      std::string& list = mask >> d & 1 ? reduced : kept;
      list += (list.empty() ? "" : ",") + std::to_string(mask >> d & 1 ? d : dims[d]);
      if (!(mask >> d & 1)) kept_dims.push_back(dims[d]);
    }
    const auto got = EvaluateValues(
        std::string(kAdd) + "ENTRY e { x = f32[3,5,2,17] parameter(0)  z = f32[] constant(0.5)  ROOT r = f32[" + kept +
            "] reduce(x, z), dimensions={" + reduced + "}, to_apply=add }",
        {x});
    std::vector<double> want(Shape::Array(PrimitiveType::kF32, kept_dims).ElementCount(), 0.5);
    for (int64_t i = 0; i < x.element_count(); ++i) {
      int64_t rest = i, position = 0, stride = 1;
      for (int d = 3; d >= 0; --d) {
        const int64_t at = rest % dims[d];
        rest /= dims[d];
        if (mask >> d & 1) continue;
        position += at * stride;
        stride *= dims[d];
      }
      want[position] += x.GetDouble(i);
    }
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << "dimensions " << reduced;
  }
}

TEST(EvaluateReduce, LongSumsOfF32StayAccurate) {
  Literal x(Shape::Array(PrimitiveType::kF32, {1 << 22}));
  for (float& value : x.data<float>()) value = 0.1f;
  const auto row = EvaluateValues(std::string(kAdd) +
                                      "ENTRY e { x = f32[4194304] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] "
                                      "reduce(x, z), dimensions={0}, to_apply=add }",
                                  {x});
  EXPECT_NEAR(row[0], 0.1f * double{1 << 22}, 0.02);
  x.Reshape({1 << 17, 32});
  const auto column = EvaluateValues(std::string(kAdd) +
                                         "ENTRY e { x = f32[131072,32] parameter(0)  z = f32[] constant(0)  ROOT r = "
                                         "f32[32] reduce(x, z), dimensions={0}, to_apply=add }",
                                     {x});
  EXPECT_NEAR(column[31], 0.1f * double{1 << 17}, 0.001);
}

TEST(EvaluateReduce, Bf16SumsRoundOnce) {
  EXPECT_THAT(EvaluateValues(R"(add { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT s = bf16[] add(a, b) }
    ENTRY e { o = bf16[] constant(1)  x = bf16[1000] broadcast(o), dimensions={}  z = bf16[] constant(0)  ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=add })"),
              ElementsAre(1000));
}

TEST(EvaluateReduce, SeveralArraysAtOnceFindTheFirstLargest) {
  auto result = EvaluateText(R"(
    larger { v = f32[] parameter(0)  i = s32[] parameter(1)  w = f32[] parameter(2)  j = s32[] parameter(3)
      gt = pred[] compare(v, w), direction=GE  a = f32[] select(gt, v, w)  b = s32[] select(gt, i, j)  ROOT t = (f32[], s32[]) tuple(a, b) }
    ENTRY e { x = f32[2,4] parameter(0)  k = s32[2,4] iota(), iota_dimension=1  z = f32[] constant(-inf)  o = s32[] constant(0)
      ROOT r = (f32[2], s32[2]) reduce(x, k, z, o), dimensions={1}, to_apply=larger })",
                             {F32({2, 4}, {1, 9, 9, 2, -4, -3, -2, -1})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(result->elements()[0]), ElementsAre(9, -1));
  EXPECT_THAT(Values(result->elements()[1]), ElementsAre(1, 3));
}

TEST(EvaluateReduce, BodiesThatAreNotElementwiseRunToo) {
  EXPECT_THAT(EvaluateValues(R"(
    odd { a = f32[] parameter(0)  b = f32[] parameter(1)  x = f32[1] reshape(a)  y = f32[1] reshape(b)  c = f32[2] concatenate(x, y), dimensions={0}
      s = f32[1] slice(c), slice={[1:2]}  ROOT r = f32[] reshape(s) }
    ENTRY e { x = f32[2,3] parameter(0)  z = f32[] constant(0)  ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=odd })",
                             {F32({2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(3, 6));
}

TEST(EvaluateReduce, OfNothingGivesTheStartValue) {
  EXPECT_THAT(EvaluateValues(std::string(kAdd) + "ENTRY e { x = f32[2,0] parameter(0)  z = f32[] constant(7)  ROOT r = "
                                                 "f32[2] reduce(x, z), dimensions={1}, to_apply=add }",
                             {Literal(Shape::Array(PrimitiveType::kF32, {2, 0}))}),
              ElementsAre(7, 7));
}

TEST(EvaluateReduce, ToNoElementsGivesNone) {
  for (const char* dimensions :
       {"f32[3,0] parameter(0)  z = f32[] constant(7)  ROOT r = f32[0] reduce(x, z), dimensions={0}",
        "f32[0,3] parameter(0)  z = f32[] constant(7)  ROOT r = f32[0] reduce(x, z), dimensions={1}"}) {
    const Shape shape =
        dimensions[4] == '3' ? Shape::Array(PrimitiveType::kF32, {3, 0}) : Shape::Array(PrimitiveType::kF32, {0, 3});
    EXPECT_THAT(
        EvaluateValues(std::string(kAdd) + "ENTRY e { x = " + dimensions + ", to_apply=add }", {Literal(shape)}),
        ElementsAre());
  }
}

TEST(EvaluateReduceWindow, DilationsPaddingAndStridesMatchPlainLoops) {
  std::mt19937 random(20240511);
  for (int trial = 0; trial < 60; ++trial) {
    auto pick = [&](int low, int high) {
      return static_cast<int64_t>(std::uniform_int_distribution<int>(low, high)(random));
    };
    int64_t in[2], size[2], stride[2], low[2], high[2], base[2], dilation[2], out[2];
    for (int d = 0; d < 2; ++d) {
      in[d] = pick(2, 9), size[d] = pick(1, 4), stride[d] = pick(1, 3), low[d] = pick(-1, 3), high[d] = pick(-1, 3),
      base[d] = pick(1, 3), dilation[d] = pick(1, 2);
      const int64_t padded = (in[d] - 1) * base[d] + 1 + low[d] + high[d], window = (size[d] - 1) * dilation[d] + 1;
      out[d] = padded < window ? 0 : (padded - window) / stride[d] + 1;
    }
    auto pair = [](const char* name, int64_t a, int64_t b) {
      return std::string(" ") + name + "=" + std::to_string(a) + "x" + std::to_string(b);
    };
    const std::string window = "size=" + std::to_string(size[0]) + "x" + std::to_string(size[1]) +
                               pair("stride", stride[0], stride[1]) + " pad=" + std::to_string(low[0]) + "_" +
                               std::to_string(high[0]) + "x" + std::to_string(low[1]) + "_" + std::to_string(high[1]) +
                               pair("lhs_dilate", base[0], base[1]) + pair("rhs_dilate", dilation[0], dilation[1]);
    const Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, {in[0], in[1]}), trial, {-1, 1}).value();
    const auto got =
        EvaluateValues(std::string(kAdd) + "ENTRY e { x = f32[" + std::to_string(in[0]) + "," + std::to_string(in[1]) +
                           "] parameter(0)  z = f32[] constant(0)  ROOT r = f32[" + std::to_string(out[0]) + "," +
                           std::to_string(out[1]) + "] reduce-window(x, z), window={" + window + "}, to_apply=add }",
                       {x});
    ASSERT_EQ(static_cast<int64_t>(got.size()), out[0] * out[1]) << window;
    for (int64_t i = 0; i < out[0]; ++i) {
      for (int64_t j = 0; j < out[1]; ++j) {
        double want = 0;
        for (int64_t p = 0; p < size[0]; ++p) {
          for (int64_t q = 0; q < size[1]; ++q) {
            const int64_t y = i * stride[0] + p * dilation[0] - low[0], z = j * stride[1] + q * dilation[1] - low[1];
            if (y < 0 || z < 0 || y % base[0] != 0 || z % base[1] != 0 || y / base[0] >= in[0] || z / base[1] >= in[1])
              continue;
            want += x.GetDouble(y / base[0] * in[1] + z / base[1]);
          }
        }
        EXPECT_NEAR(got[i * out[1] + j], want, 1e-5) << window;
      }
    }
  }
}

TEST(EvaluateSelectAndScatter, GivesEachGradientToItsLargestElement) {
  const char* text = R"(
    ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[1,4,2] parameter(0)  s = f32[1,2,2] parameter(1)  z = f32[] constant(0)
      ROOT r = f32[1,4,2] select-and-scatter(x, s, z), window={size=1x3x1 stride=1x1x1}, select=ge, scatter=add })";
  EXPECT_THAT(EvaluateValues(text, {F32({1, 4, 2}, {1, 8, 5, 7, 2, 6, 3, 5}), F32({1, 2, 2}, {10, 20, 100, 200})}),
              ElementsAre(0, 20, 110, 200, 0, 0, 0, 0));
}

TEST(EvaluateSort, IsStableAndCarriesItsCompanions) {
  auto result = EvaluateText(R"(
    less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)  ROOT r = pred[] compare(a, b), direction=LT }
    ENTRY e { x = f32[6] parameter(0)  k = s32[6] iota(), iota_dimension=0
      ROOT r = (f32[6], s32[6]) sort(x, k), dimensions={0}, is_stable=true, to_apply=less })",
                             {F32({6}, {3, 1, 2, 1, 3, 0})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(result->elements()[0]), ElementsAre(0, 1, 1, 2, 3, 3));
  EXPECT_THAT(Values(result->elements()[1]), ElementsAre(5, 1, 3, 2, 0, 4));
}

TEST(EvaluateSort, ComparatorsThatAreNoOrderEndAllTheSame) {
  Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, {1000}), 0, {-1, 1}).value();
  for (const char* body :
       {"ROOT r = pred[] constant(true)", "n = pred[] compare(a, b), direction=LT  ROOT r = pred[] or(n, n)"}) {
    auto result = EvaluateText(
        std::string("c { a = f32[] parameter(0)  b = f32[] parameter(1)  ") + body +
            " }\nENTRY e { x = f32[1000] parameter(0)  ROOT r = f32[1000] sort(x), dimensions={0}, to_apply=c }",
        {x});
    EXPECT_TRUE(result.ok()) << result.status();
  }
}

TEST(EvaluateSort, KeysMayBeComputedFromEachElement) {
  EXPECT_THAT(EvaluateValues(R"(
    by_magnitude { a = f32[] parameter(0)  b = f32[] parameter(1)  x = f32[] abs(a)  y = f32[] abs(b)  ROOT r = pred[] compare(y, x), direction=LT }
    ENTRY e { x = f32[2,3] parameter(0)  ROOT r = f32[2,3] sort(x), dimensions={0}, to_apply=by_magnitude })",
                             {F32({2, 3}, {1, -5, 2, -3, 4, -2})}),
              ElementsAre(-3, -5, 2, 1, 4, -2));
}

}  // namespace
}  // namespace smelt::hlo

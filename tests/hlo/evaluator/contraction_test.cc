#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "hlo/golden/golden.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

std::string List(const std::vector<int64_t>& values, const char* separator = ",") {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

// Sum over depth of a[m,k] b[k,n] with the dimensions of both operands in any order, against plain loops.
TEST(EvaluateDot, EveryPlaceOfBatchAndContractingDimensionsMatchesPlainLoops) {
  struct Case {
    std::vector<int64_t> lhs, rhs;  // sizes in order: b (batch), m or n, k
    int lhs_order[3], rhs_order[3];
  };
  const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int64_t b : {1, 3}) {
    for (int64_t m : {1, 7, 30}) {
      for (int64_t n : {1, 19, 70}) {
        const int64_t k = 33, lhs_sizes[3] = {b, m, k}, rhs_sizes[3] = {b, n, k};
        for (const auto& lo : orders) {
          const auto& ro = orders[(&lo - orders + 2) % 6];
          std::vector<int64_t> lhs(3), rhs(3);
          for (int i = 0; i < 3; ++i) lhs[i] = lhs_sizes[lo[i]], rhs[i] = rhs_sizes[ro[i]];
          auto place = [](const int* order, int what) {
            for (int i = 0; i < 3; ++i) {
              if (order[i] == what) return i;
            }
            return -1;
          };
          const Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, lhs), 0, {-1, 1}).value();
          const Literal y = MakeInput(Shape::Array(PrimitiveType::kF32, rhs), 1, {-1, 1}).value();
          const auto got =
              EvaluateValues("ENTRY e { x = f32[" + List(lhs) + "] parameter(0)  y = f32[" + List(rhs) +
                                 "] parameter(1)  ROOT d = f32[" + List({b, m, n}) + "] dot(x, y), lhs_batch_dims={" +
                                 std::to_string(place(lo, 0)) + "}, rhs_batch_dims={" + std::to_string(place(ro, 0)) +
                                 "}, lhs_contracting_dims={" + std::to_string(place(lo, 2)) +
                                 "}, rhs_contracting_dims={" + std::to_string(place(ro, 2)) + "} }",
                             {x, y});
          const auto xs = x.shape().Strides(), ys = y.shape().Strides();
          for (int64_t batch = 0; batch < b; ++batch) {
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < n; ++j) {
                double want = 0;
                for (int64_t d = 0; d < k; ++d) {
                  want += x.GetDouble(batch * xs[place(lo, 0)] + i * xs[place(lo, 1)] + d * xs[place(lo, 2)]) *
                          y.GetDouble(batch * ys[place(ro, 0)] + j * ys[place(ro, 1)] + d * ys[place(ro, 2)]);
                }
                ASSERT_NEAR(got[(batch * m + i) * n + j], want, 1e-5) << List(lhs) << " " << List(rhs);
              }
            }
          }
        }
      }
    }
  }
}

TEST(EvaluateDot, IntegersWrapInTheResultType) {
  EXPECT_THAT(EvaluateValues("ENTRY e { a = s8[1,3] constant({{100, 100, 100}})  b = s8[3,1] constant({{100}, {100}, "
                             "{100}})  ROOT d = s32[1,1] dot(a, b), "
                             "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"),
              testing::ElementsAre(30000));
  EXPECT_THAT(EvaluateValues("ENTRY e { a = s8[1,1] constant({{100}})  b = s8[1,1] constant({{2}})  ROOT d = s8[1,1] "
                             "dot(a, b), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0} }"),
              testing::ElementsAre(-56));
}

// Random windows, groups and labels against seven nested loops.
TEST(EvaluateConvolution, RandomGeometriesMatchPlainLoops) {
  constexpr int kSeed = 7041;
  std::mt19937 random(kSeed);
  auto pick = [&](int low, int high) {
    return static_cast<int64_t>(std::uniform_int_distribution<int>(low, high)(random));
  };
  for (int trial = 0; trial < 120; ++trial) {
    const int64_t feature_groups = trial % 3 == 1 ? pick(2, 4) : 1, batch_groups = trial % 3 == 2 ? pick(2, 3) : 1;
    const int64_t group_channels = pick(1, 3), group_features = pick(1, trial % 5 == 0 ? 40 : 3), batch = pick(1, 2);
    const int64_t channels = group_channels * feature_groups, features = group_features * feature_groups * batch_groups,
                  input_batch = batch * batch_groups;
    int64_t in[2], size[2], stride[2], low[2], high[2], base[2], dilation[2], out[2];
    bool reversed[2];
    for (int d = 0; d < 2; ++d) {
      do {
        in[d] = pick(1, 9), size[d] = pick(1, 4), stride[d] = pick(1, 3), low[d] = pick(-1, 3), high[d] = pick(-1, 3),
        base[d] = pick(1, 3), dilation[d] = pick(1, 2);
        const int64_t padded = (in[d] - 1) * base[d] + 1 + low[d] + high[d], window = (size[d] - 1) * dilation[d] + 1;
        out[d] = padded < window ? 0 : (padded - window) / stride[d] + 1;
      } while (out[d] < 1);
      reversed[d] = pick(0, 3) == 0;
    }
    const bool channels_last = pick(0, 1) == 1;
    const std::vector<int64_t> input_dims = channels_last ? std::vector<int64_t>{input_batch, in[0], in[1], channels}
                                                          : std::vector<int64_t>{input_batch, channels, in[0], in[1]};
    const std::vector<int64_t> kernel_dims = channels_last
                                                 ? std::vector<int64_t>{size[0], size[1], group_channels, features}
                                                 : std::vector<int64_t>{features, group_channels, size[0], size[1]};
    const std::vector<int64_t> output_dims = channels_last ? std::vector<int64_t>{batch, out[0], out[1], features}
                                                           : std::vector<int64_t>{batch, features, out[0], out[1]};
    auto pair = [](const char* name, int64_t a, int64_t b) {
      return std::string(" ") + name + "=" + std::to_string(a) + "x" + std::to_string(b);
    };
    const std::string text = "ENTRY e { x = f32[" + List(input_dims) + "] parameter(0)  k = f32[" + List(kernel_dims) +
                             "] parameter(1)  ROOT c = f32[" + List(output_dims) +
                             "] convolution(x, k), window={size=" + List({size[0], size[1]}, "x") +
                             pair("stride", stride[0], stride[1]) + " pad=" + std::to_string(low[0]) + "_" +
                             std::to_string(high[0]) + "x" + std::to_string(low[1]) + "_" + std::to_string(high[1]) +
                             pair("lhs_dilate", base[0], base[1]) + pair("rhs_dilate", dilation[0], dilation[1]) +
                             pair("rhs_reversal", reversed[0], reversed[1]) +
                             "}, dim_labels=" + (channels_last ? "b01f_01io->b01f" : "bf01_oi01->bf01") +
                             ", feature_group_count=" + std::to_string(feature_groups) +
                             ", batch_group_count=" + std::to_string(batch_groups) + " }";
    const Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, input_dims), 0, {-1, 1}).value();
    const Literal k = MakeInput(Shape::Array(PrimitiveType::kF32, kernel_dims), 1, {-1, 1}).value();
    const auto got = EvaluateValues(text, {x, k});
    ASSERT_EQ(static_cast<int64_t>(got.size()), batch * features * out[0] * out[1]) << text;
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t f = 0; f < features; ++f) {
        const int64_t image = n + (batch_groups > 1 ? f / group_features * batch : 0),
                      first = feature_groups > 1 ? f / group_features * group_channels : 0;
        for (int64_t i = 0; i < out[0]; ++i) {
          for (int64_t j = 0; j < out[1]; ++j) {
            double want = 0;
            for (int64_t p = 0; p < size[0]; ++p) {
              for (int64_t q = 0; q < size[1]; ++q) {
                const int64_t y = i * stride[0] + (reversed[0] ? size[0] - 1 - p : p) * dilation[0] - low[0];
                const int64_t z = j * stride[1] + (reversed[1] ? size[1] - 1 - q : q) * dilation[1] - low[1];
                if (y < 0 || z < 0 || y % base[0] != 0 || z % base[1] != 0 || y / base[0] >= in[0] ||
                    z / base[1] >= in[1])
                  continue;
                for (int64_t c = 0; c < group_channels; ++c) {
                  const int64_t u = y / base[0], v = z / base[1];
                  const int64_t at = channels_last ? ((image * in[0] + u) * in[1] + v) * channels + first + c
                                                   : ((image * channels + first + c) * in[0] + u) * in[1] + v;
                  const int64_t weight = channels_last ? ((p * size[1] + q) * group_channels + c) * features + f
                                                       : ((f * group_channels + c) * size[0] + p) * size[1] + q;
                  want += x.GetDouble(at) * k.GetDouble(weight);
                }
              }
            }
            const int64_t at = channels_last ? ((n * out[0] + i) * out[1] + j) * features + f
                                             : ((n * features + f) * out[0] + i) * out[1] + j;
            ASSERT_NEAR(got[at], want, 1e-5) << text << " (seed " << kSeed << ")";
          }
        }
      }
    }
  }
}

// However it is computed: as a matrix, mostly padding, one channel per feature.
TEST(EvaluateConvolution, PaddingTakesPartAsZeros) {
  const auto nan = testing::IsNan();
  const char* const convolutions[] = {
      "x = f32[1,1,1] constant({{{2}}})  k = f32[3,1,1] constant({{{1}}, {{3}}, {{inf}}})  ROOT c = f32[1,3,1] "
      "convolution(x, k), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f",
      "x = f32[1,1,1] constant({{{2}}})  p = f32[3,1,1] constant({{{1}}, {{3}}, {{inf}}})  z = f32[] constant(0)  "
      "k = f32[30,1,1] pad(p, z), padding=0_27x0_0x0_0  ROOT c = f32[1,3,1] convolution(x, k), "
      "window={size=30 pad=2_29}, dim_labels=b0f_0io->b0f",
      "x = f32[1,1,2] constant({{{2, 1}}})  k = f32[3,1,2] constant({{{1, 1}}, {{3, 3}}, {{inf, 4}}})  c = f32[1,3,2] "
      "convolution(x, k), window={size=3 pad=2_2}, dim_labels=b0f_0io->b0f, feature_group_count=2  ROOT s = f32[1,3,1] "
      "slice(c), slice={[0:1], [0:3], [0:1]}",
  };
  for (const char* convolution : convolutions) {
    EXPECT_THAT(EvaluateValues(std::string("ENTRY e { ") + convolution + " }"),
                testing::ElementsAre(std::numeric_limits<double>::infinity(), nan, nan))
        << convolution;
  }
}

TEST(EvaluateConvolution, LargeProductsUseThePackedKernel) {
  const char* text =
      "ENTRY e { x = f32[1,20,20,32] parameter(0)  k = f32[3,3,32,64] parameter(1)  ROOT c = f32[1,20,20,64] "
      "convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
      "dim_labels=b01f_01io->b01f }";
  const Literal x = MakeInput(Shape::Array(PrimitiveType::kF32, {1, 20, 20, 32}), 0, {-1, 1}).value();
  const Literal k = MakeInput(Shape::Array(PrimitiveType::kF32, {3, 3, 32, 64}), 1, {-1, 1}).value();
  auto one = EvaluateText(text, {x, k}, {.threads = 1}), two = EvaluateText(text, {x, k}, {.threads = 2});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_TRUE(*one == *two);  // threads never change a sum's order
  double want = 0;
  for (int64_t p = 0; p < 3; ++p) {
    for (int64_t q = 0; q < 3; ++q) {
      for (int64_t c = 0; c < 32; ++c)
        want += x.GetDouble(((9 + p) * 20 + 4 + q) * 32 + c) * k.GetDouble(((p * 3 + q) * 32 + c) * 64 + 17);
    }
  }
  EXPECT_NEAR(one->GetDouble((10 * 20 + 5) * 64 + 17), want, 1e-4);
}

TEST(EvaluateRaggedDot, RowsUseTheMatrixOfTheirGroup) {
  EXPECT_THAT(
      EvaluateValues(
          R"(ENTRY e { x = f32[4,1] constant({{1}, {2}, {3}, {4}})  w = f32[2,1,1] constant({{{10}}, {{100}}})  g = s32[2] constant({1, 2})
    ROOT r = f32[4,1] ragged-dot(x, w, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} })"),
      testing::ElementsAre(10, 200, 300, 0));
}

// Every mode, against one dot a group on the rows that it has; group sizes are more than the rows, negative, and of a
// batch apart.
TEST(EvaluateRaggedDot, GroupsBeyondTheRowsAndGroupsOfABatchApart) {
  EXPECT_THAT(
      EvaluateValues(
          R"(ENTRY e { x = f32[2,3,1] constant({{{1}, {2}, {3}}, {{4}, {5}, {6}}})  w = f32[2,2,1,1] constant({{{{10}}, {{20}}}, {{{100}}, {{200}}}})  g = s64[2,2] constant({{1, 9223372036854775807}, {2, -5}})
    ROOT r = f32[2,3,1] ragged-dot(x, w, g), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0} })"),
      testing::ElementsAre(10, 200, 300, 80, 100, 0));
  EXPECT_THAT(
      EvaluateValues(
          R"(ENTRY e { x = f32[4,1] constant({{1}, {2}, {3}, {4}})  w = f32[4,2] constant({{1, 10}, {1, 10}, {1, 10}, {1, 10}})  g = s32[3] constant({1, 0, 2})
    ROOT r = f32[3,1,2] ragged-dot(x, w, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0} })"),
      testing::ElementsAre(1, 10, 0, 0, 5, 50));
  const absl::StatusOr<Literal> mismatch = EvaluateText(
      R"(ENTRY e { x = f32[2,3,1] parameter(0)  w = f32[2,2,1,1] parameter(1)  g = s32[5,2] parameter(2)
    ROOT r = f32[2,3,1] ragged-dot(x, w, g), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0} })",
      {Literal(Shape::Array(PrimitiveType::kF32, {2, 3, 1})), Literal(Shape::Array(PrimitiveType::kF32, {2, 2, 1, 1})),
       Literal(Shape::Array(PrimitiveType::kS32, {5, 2}))});
  EXPECT_THAT(std::string(mismatch.status().message()), testing::HasSubstr("ask for [2,2]"));
}

TEST(EvaluateScaledDot, OfNothing) {
  const auto zeros = [](PrimitiveType type, int64_t rows) { return Literal(Shape::Array(type, {rows, 0})); };
  EXPECT_THAT(EvaluateValues(R"(ENTRY e { x = f8e4m3fn[2,0] parameter(0)  y = f8e4m3fn[3,0] parameter(1)
    a = f8e8m0fnu[2,0] parameter(2)  b = f8e8m0fnu[3,0] parameter(3)
    ROOT r = f32[2,3] scaled-dot(x, y, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1} })",
                             {zeros(PrimitiveType::kF8E4M3FN, 2), zeros(PrimitiveType::kF8E4M3FN, 3),
                              zeros(PrimitiveType::kF8E8M0FNU, 2), zeros(PrimitiveType::kF8E8M0FNU, 3)}),
              testing::Each(0));
}

}  // namespace
}  // namespace smelt::hlo

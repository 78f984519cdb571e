#include <gmock/gmock.h>

#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;

const Literal kSix = F32({2, 3}, {0, 1, 2, 3, 4, 5});

TEST(EvaluateDataMovement, TransposeBroadcastReverseConcatenate) {
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = f32[2,3] parameter(0)  ROOT r = f32[3,2] transpose(x), dimensions={1,0} }", {kSix}),
      ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2,2] broadcast(x), dimensions={0} }",
                             {F32({2}, {7, 8})}),
              ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = f32[2,3] parameter(0)  ROOT r = f32[2,3] reverse(x), dimensions={1} }", {kSix}),
      ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[2,3] parameter(0)  s = f32[2,1] slice(x), slice={[0:2],[2:3]}  ROOT r "
                             "= f32[2,4] concatenate(s, x), dimensions={1} }",
                             {kSix}),
              ElementsAre(2, 0, 1, 2, 5, 3, 4, 5));
}

TEST(EvaluateDataMovement, LargeTransposesOfManyDimensionsAreRight) {
  const int64_t a = 37, b = 5, c = 41, d = 3;
  Literal x(Shape::Array(PrimitiveType::kF32, {a, b, c, d}));
  for (int64_t i = 0; i < x.element_count(); ++i) x.data<float>()[i] = static_cast<float>(i);
  auto result = EvaluateText(
      "ENTRY e { x = f32[37,5,41,3] parameter(0)  ROOT r = f32[41,3,37,5] transpose(x), dimensions={2,3,0,1} }", {x});
  ASSERT_TRUE(result.ok()) << result.status();
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) {
      for (int64_t k = 0; k < c; ++k) {
        for (int64_t l = 0; l < d; ++l) {
          ASSERT_EQ(result->data<float>()[((k * d + l) * a + i) * b + j],
                    static_cast<float>(((i * b + j) * c + k) * d + l));
        }
      }
    }
  }
}

TEST(EvaluateDataMovement, PadCropsAndSpreads) {
  const Literal x = F32({4}, {1, 2, 3, 4});
  EXPECT_THAT(
      EvaluateValues(
          "ENTRY e { x = f32[4] parameter(0)  z = f32[] constant(9)  ROOT r = f32[8] pad(x, z), padding=-1_2_1 }", {x}),
      ElementsAre(9, 2, 9, 3, 9, 4, 9, 9));
  EXPECT_THAT(
      EvaluateValues(
          "ENTRY e { x = f32[4] parameter(0)  z = f32[] constant(9)  ROOT r = f32[1] pad(x, z), padding=-5_2 }", {x}),
      ElementsAre(9));
  EXPECT_THAT(
      EvaluateValues(
          "ENTRY e { x = f32[4] parameter(0)  z = f32[] constant(9)  ROOT r = f32[2] pad(x, z), padding=-1_-1 }", {x}),
      ElementsAre(2, 3));
}

TEST(EvaluateDataMovement, BitcastFollowsLayouts) {
  // {0,1} is column-major: in memory 0 3 1 4 2 5, which the result reads row by row.
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[2,3]{0,1} parameter(0)  ROOT r = f32[3,2]{1,0} bitcast(x) }", {kSix}),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[2,3]{1,0} parameter(0)  ROOT r = f32[6]{0} bitcast(x) }", {kSix}),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(EvaluateDataMovement, BitcastConvertSplitsAndJoinsElements) {
  EXPECT_THAT(EvaluateValues("ENTRY e { x = s32[1] constant({67305985})  ROOT r = u8[1,4] bitcast-convert(x) }"),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = u8[2] constant({33, 244})  ROOT r = s4[2,2] bitcast-convert(x) }"),
              ElementsAre(1, 2, 4, -1));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = s4[2,2] constant({{1, 2}, {4, -1}})  ROOT r = u8[2] bitcast-convert(x) }"),
              ElementsAre(33, 244));
}

TEST(EvaluateDataMovement, DynamicStartsAreClamped) {
  const char* slice =
      "ENTRY e { x = f32[2,3] parameter(0)  i = s32[] parameter(1)  j = s32[] parameter(2)  ROOT r = f32[1,2] "
      "dynamic-slice(x, i, j), "
      "dynamic_slice_sizes={1,2} }";
  EXPECT_THAT(EvaluateValues(slice, {kSix, S32({}, {-7}), S32({}, {100})}), ElementsAre(1, 2));
  const char* update =
      "ENTRY e { x = f32[2,3] parameter(0)  u = f32[1,2] constant({{8, 9}})  i = s32[] parameter(1)  j = s32[] "
      "parameter(2)  ROOT r = f32[2,3] "
      "dynamic-update-slice(x, u, i, j) }";
  EXPECT_THAT(EvaluateValues(update, {kSix, S32({}, {5}), S32({}, {5})}), ElementsAre(0, 1, 2, 3, 8, 9));
}

TEST(EvaluateDataMovement, GatherClampsAndScatterDrops) {
  const char* gather =
      "ENTRY e { x = f32[2,3] parameter(0)  i = s32[3,1] parameter(1)  ROOT r = f32[3,3] gather(x, i), "
      "offset_dims={1}, "
      "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3} }";
  EXPECT_THAT(EvaluateValues(gather, {kSix, S32({3, 1}, {-1, 7, 0})}), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2));
  const char* scatter = R"(add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[2,3] parameter(0)  i = s32[3,1] parameter(1)  u = f32[3,3] broadcast(f32[] constant(10)), dimensions={}
      ROOT r = f32[2,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add })";
  EXPECT_THAT(EvaluateValues(scatter, {kSix, S32({3, 1}, {-1, 2, 1})}), ElementsAre(0, 1, 2, 13, 14, 15));
  EXPECT_THAT(EvaluateValues(scatter, {kSix, S32({3, 1}, {1, 1, 0})}), ElementsAre(10, 11, 12, 23, 24, 25));
}

TEST(EvaluateDataMovement, GatherWithBatchingDimensions) {
  const char* text =
      "ENTRY e { x = f32[2,3] parameter(0)  i = s32[2,2,1] parameter(1)  ROOT r = f32[2,2] gather(x, i), "
      "offset_dims={}, "
      "collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=2, slice_sizes={1,1}, "
      "operand_batching_dims={0}, "
      "start_indices_batching_dims={0} }";
  EXPECT_THAT(EvaluateValues(text, {kSix, S32({2, 2, 1}, {2, 0, 1, 2})}), ElementsAre(2, 0, 4, 5));
}

TEST(EvaluateDataMovement, EmptyArraysPassThrough) {
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[0,3] parameter(0)  t = f32[3,0] transpose(x), dimensions={1,0}  n = "
                             "f32[3,0] negate(t)  z = f32[] constant(1)  ROOT r = "
                             "f32[3,1] pad(n, z), padding=0_0x0_1 }",
                             {Literal(Shape::Array(PrimitiveType::kF32, {0, 3}))}),
              ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace smelt::hlo

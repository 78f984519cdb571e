// Arrays whose sizes are known only at run time. Expected: what XLA:CPU gives (jaxlib 0.10.2), the elements within the
// sizes first; but for the cumulative sum, of which XLA makes a negative size, and the update, which it refuses here.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// d: the first three of six numbers; m: the first two rows of a matrix of three.
constexpr std::string_view kStart = R"(
add { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT s = s32[] add(a, b) }
less { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT s = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = s32[6] constant({5, 1, 3, 90, 80, 70})
  three = s32[] constant(3)
  d = s32[<=6] set-dimension-size(x, three), dimensions={0}
  y = s32[3,2] constant({{1, 2}, {3, 4}, {50, 60}})
  two = s32[] constant(2)
  m = s32[<=3,2] set-dimension-size(y, two), dimensions={0}
  zero = s32[] constant(0)
  one = s32[] constant(1)
)";

struct Case {
  std::string_view name, rest;
  std::vector<double> front;  // of the result; what follows means nothing
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"squeeze", "i = s32[<=6,1] reshape(d) ROOT r = s32[<=6] reshape(i)", {5, 1, 3}},
    {"merge", "ROOT r = s32[<=6] reshape(m)", {1, 2, 3, 4}},
    {"split", "f = s32[<=6] reshape(m) ROOT r = s32[<=3,2] reshape(f)", {1, 2, 3, 4}},
    {"transpose", "ROOT r = s32[2,<=3] transpose(m), dimensions={1,0}", {1, 3, 2, 4}},
    {"broadcast", "ROOT r = s32[2,<=6] broadcast(d), dimensions={1}", {5, 1, 3, 5, 1, 3}},
    {"reverse", "ROOT r = s32[<=6] reverse(d), dimensions={0}", {3, 1, 5}},
    {"pad_follows_what_there_is", "ROOT r = s32[<=8] pad(d, zero), padding=1_1", {0, 5, 1, 3, 0}},
    {"concatenate", "ROOT r = s32[<=12] concatenate(d, x), dimensions={0}", {5, 1, 3, 5, 1, 3, 90, 80, 70}},
    {"sort", "ROOT r = s32[<=6] sort(d), dimensions={0}, to_apply=less", {1, 3, 5}},
    {"reduce_all", "ROOT r = s32[] reduce(d, zero), dimensions={0}, to_apply=add", {9}},
    {"reduce_keeps_others", "ROOT r = s32[<=3] reduce(m, zero), dimensions={1}, to_apply=add", {3, 7}},
    {"cumulative_sum", "ROOT r = s32[<=6] reduce-window(d, zero), window={size=6 pad=5_0}, to_apply=add", {5, 6, 9}},
    {"dot_over_rows",
     "ROOT r = s32[2,2] dot(m, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     {10, 14, 14, 20}},
    {"dot_keeps_rows",
     "ROOT r = s32[<=3,<=3] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     {5, 11, 11, 25}},
    {"gather_by_some",
     "i = s32[<=6] set-dimension-size(s32[6] constant({5, 0, 9, 1, 1, 1}), two), dimensions={0} ROOT r = s32[<=6] "
     "gather(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
     {70, 5}},
    {"gather_of_whole_rows",
     "i = s32[1] constant({1}) ROOT r = s32[1,<=3] gather(m, i), offset_dims={1}, collapsed_slice_dims={1}, "
     "start_index_map={1}, index_vector_dim=1, slice_sizes={3,1}",
     {2, 4}},
    // A slice of a part has the size that it says, whatever is beyond the size at run time.
    {"slice_of_a_part", "ROOT r = s32[2] slice(d), slice={[1:3]}", {1, 3}},
    {"slice_of_others", "ROOT r = s32[<=3,1] slice(m), slice={[0:3], [1:2]}", {2, 4}},
    {"dynamic_slice", "ROOT r = s32[<=3,1] dynamic-slice(m, zero, one), dynamic_slice_sizes={3,1}", {2, 4}},
    {"update_writes_what_there_is",
     "b = s32[8] broadcast(one), dimensions={} ROOT r = s32[8] dynamic-update-slice(b, d, two)",
     {1, 1, 5, 1, 3, 1, 1, 1}},
    {"elementwise", "ROOT r = s32[<=6] multiply(d, x)", {25, 1, 9}},
    {"all_is_no_other_size",
     "six = s32[] constant(6) w = s32[6] set-dimension-size(d, six), dimensions={0} ROOT r = s32[6] reverse(w), "
     "dimensions={0}",
     {70, 80, 90, 3, 1, 5}},
};

class RuntimeSizes : public testing::TestWithParam<Case> {};

TEST_P(RuntimeSizes, WhatThereIsComesFirst) {
  std::vector<double> values = EvaluateValues(std::string(kStart) + std::string(GetParam().rest) + " }");
  ASSERT_GE(values.size(), GetParam().front.size());
  values.resize(GetParam().front.size());
  EXPECT_THAT(values, ElementsAreArray(GetParam().front));
}

INSTANTIATE_TEST_SUITE_P(Table, RuntimeSizes, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RuntimeSizesOf, ResultsAreTold) {
  EXPECT_THAT(
      EvaluateValues(std::string(kStart) +
                     "r = s32[<=8] pad(d, zero), padding=1_1 ROOT n = s32[] get-dimension-size(r), dimensions={0} }"),
      ElementsAre(5));
}

TEST(RuntimeSizesOf, OpcodesThatDoNotKnowThemRefuse) {
  const auto result =
      EvaluateText(std::string(kStart) +
                   "c = f32[<=6] convert(d) ROOT r = f32[<=6] custom-call(c), custom_call_target=\"Sharding\" }");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace smelt::hlo

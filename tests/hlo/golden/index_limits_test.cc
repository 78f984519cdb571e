// Which integer parameters are found to choose among few.
#include "hlo/golden/index_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::map<int64_t, int64_t> Limits(const std::string& text) {
  return IndexLimits(*ParseModule("HloModule m\n" + text).value());
}

// `jnp.take` writes it so: negative indices wrap, what lies outside becomes NaN.
constexpr char kTake[] = R"(
take (t: f32[2,16], i: s32[1,4]) -> f32[1,4,16] {
  t = f32[2,16] parameter(0)
  i = s32[1,4] parameter(1)
  zero = s32[] constant(0)
  zeros = s32[1,4] broadcast(zero), dimensions={}
  negative = pred[1,4] compare(i, zeros), direction=LT
  two = s32[] constant(2)
  twos = s32[1,4] broadcast(two), dimensions={}
  wrapped = s32[1,4] add(i, twos)
  chosen = s32[1,4] select(negative, wrapped, i)
  index = s32[1,4,1] reshape(chosen)
  ROOT g = f32[1,4,16] gather(t, index), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,16}
}
)";

TEST(IndexLimits, ATokensTypeChoosesOneOfTwoRows) {
  EXPECT_THAT(Limits(std::string(kTake) + R"(
ENTRY e {
  table = f32[2,16] parameter(0)
  mask = s32[1,4] parameter(1)
  types = s32[1,4] parameter(2)
  f = f32[1,4] convert(mask)
  g = f32[1,4,16] call(table, types), to_apply=take
  b = f32[1,4,16] broadcast(f), dimensions={0,1}
  ROOT r = f32[1,4,16] multiply(g, b)
})"),
              ElementsAre(Pair(2, 2)));
}

TEST(IndexLimits, LargeTablesAndClampedSlicesLimitNothing) {
  EXPECT_THAT(Limits(R"(
ENTRY e {
  table = f32[4000,16] parameter(0)
  i = s32[4,1] parameter(1)
  small = f32[3] parameter(2)
  j = s32[] parameter(3)
  s = f32[1] dynamic-slice(small, j), dynamic_slice_sizes={1}
  g = f32[4,16] gather(table, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}
  ROOT t = (f32[1], f32[4,16]) tuple(s, g)
})"),
              IsEmpty());
}

TEST(IndexLimits, LeavesAreFollowedThroughTuplesAndLoops) {
  EXPECT_THAT(Limits(R"(
condition {
  state = (s32[], f32[5], s32[1]) parameter(0)
  n = s32[] get-tuple-element(state), index=0
  three = s32[] constant(3)
  ROOT more = pred[] compare(n, three), direction=LT
}
body {
  state = (s32[], f32[5], s32[1]) parameter(0)
  n = s32[] get-tuple-element(state), index=0
  values = f32[5] get-tuple-element(state), index=1
  action = s32[1] get-tuple-element(state), index=2
  g = f32[] gather(values, action), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=0, slice_sizes={1}
  b = f32[5] broadcast(g), dimensions={}
  one = s32[] constant(1)
  next = s32[] add(n, one)
  ROOT new = (s32[], f32[5], s32[1]) tuple(next, b, action)
}
ENTRY e {
  first = (f32[5], s32[3], s32[1]) parameter(0)
  values = f32[5] get-tuple-element(first), index=0
  action = s32[1] get-tuple-element(first), index=2
  zero = s32[] constant(0)
  state = (s32[], f32[5], s32[1]) tuple(zero, values, action)
  ROOT w = (s32[], f32[5], s32[1]) while(state), condition=condition, body=body
})"),
              ElementsAre(Pair(2, 5)));
}

}  // namespace
}  // namespace smelt::hlo

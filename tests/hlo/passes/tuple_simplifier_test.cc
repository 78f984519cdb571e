#include "hlo/passes/tuple_simplifier.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(SimplifyTuples, ReadsElementsFromWhereTheyCome) {
  const auto module = Apply(R"(ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)
      t = (f32[4], f32[4]) tuple(x, y) u = ((f32[4], f32[4]), f32[4]) tuple(t, x)
      v = (f32[4], f32[4]) get-tuple-element(u), index=0 w = f32[4] get-tuple-element(v), index=1 ROOT r = f32[4] negate(w) })",
                            SimplifyTuples);
  EXPECT_EQ(OpcodesOf(*module), "negate");
}

TEST(SimplifyTuples, ATupleOfAllElementsIsTheTuple) {
  const auto module = Apply(R"(ENTRY e { p = (f32[4], s32[2]) parameter(0) a = f32[4] get-tuple-element(p), index=0
      b = s32[2] get-tuple-element(p), index=1 t = (f32[4], s32[2]) tuple(a, b) u = s32[2] get-tuple-element(p), index=1
      ROOT r = ((f32[4], s32[2]), s32[2]) tuple(t, u) })",
                            SimplifyTuples);
  EXPECT_EQ(OpcodesOf(*module), "get-tuple-element tuple");
}

TEST(SimplifyTuples, KeepsTheRootOfTheEntryAndOtherOrders) {
  Apply(R"(ENTRY e { p = (f32[4], f32[4]) parameter(0) a = f32[4] get-tuple-element(p), index=0
      b = f32[4] get-tuple-element(p), index=1 ROOT t = (f32[4], f32[4]) tuple(a, b) })",
        SimplifyTuples, /*expect_change=*/false);
  Apply(R"(ENTRY e { p = (f32[4], f32[4]) parameter(0) a = f32[4] get-tuple-element(p), index=0
      b = f32[4] get-tuple-element(p), index=1 t = (f32[4], f32[4]) tuple(b, a) ROOT r = ((f32[4], f32[4])) tuple(t) })",
        SimplifyTuples, /*expect_change=*/false);
}

}  // namespace
}  // namespace smelt::hlo

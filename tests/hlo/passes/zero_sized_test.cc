#include "hlo/passes/zero_sized.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

struct Case {
  std::string_view body;
  std::string_view expected;
};

class ZeroSized : public testing::TestWithParam<Case> {};

TEST_P(ZeroSized, IsNotComputed) {
  const auto module = Apply(
      StrCat(
          "HloModule m\nadd_f { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\nENTRY e { ",
          GetParam().body, " }"),
      EliminateZeroSized);
  EXPECT_EQ(OpcodesOf(*module), GetParam().expected) << ToText(*module);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ZeroSized,
    testing::Values(Case{"x = f32[0,4] parameter(0) ROOT r = f32[0,4] exponential(x)", ""},
                    Case{"x = f32[0,4] parameter(0) z = f32[] constant(2) ROOT r = f32[4] reduce(x, z), "
                         "dimensions={0}, to_apply=add_f",
                         "broadcast"},
                    Case{"x = f32[2,0] parameter(0) y = f32[0,3] parameter(1) ROOT r = f32[2,3] dot(x, y), "
                         "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                         "broadcast"},
                    Case{"x = f32[0] parameter(0) z = f32[] parameter(1) ROOT r = f32[3] pad(x, z), padding=2_1",
                         "broadcast"},
                    Case{"x = f32[4] parameter(0) u = f32[0] parameter(1) i = s32[] parameter(2) ROOT r = f32[4] "
                         "dynamic-update-slice(x, u, i)",
                         ""},
                    Case{"x = f32[4] parameter(0) ROOT r = f32[0] slice(x), slice={[2:2]}", ""}));

TEST(EliminateZeroSized, LeavesTheRest) {
  Apply("ENTRY e { x = f32[0] parameter(0) y = f32[2] parameter(1) ROOT r = (f32[0], f32[2]) tuple(x, y) }",
        EliminateZeroSized, /*expect_change=*/false);
}

}  // namespace
}  // namespace smelt::hlo

#include "hlo/passes/while_simplifier.h"

#include "hlo/passes/while_trip_count.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

// A loop over (counter, value, limit or spare): limit_init starts element 2, spare_next is its next value.
std::string Loop(std::string_view init, std::string_view limit, std::string_view body_extra, std::string_view next2,
                 std::string_view tail) {
  return StrCat(R"(HloModule m
    body { s = (s32[], f32[4], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[4] get-tuple-element(s), index=1
      l = s32[] get-tuple-element(s), index=2 one = s32[] constant(1) j = s32[] add(i, one) half = f32[] constant(0.5)
      h = f32[4] broadcast(half), dimensions={} y = f32[4] multiply(x, h) )",
                body_extra, " ROOT r = (s32[], f32[4], s32[]) tuple(j, y, ", next2, R"() }
    condition { s = (s32[], f32[4], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 )",
                limit, R"( ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[4] parameter(0) k = s32[] parameter(1) z = s32[] constant()",
                init, ") five = s32[] constant(5) ", tail, " }");
}

constexpr std::string_view kLimitFromState = "n = s32[] get-tuple-element(s), index=2";
constexpr std::string_view kLimitConstant = "n = s32[] constant(5)";
constexpr std::string_view kTakeValue =
    "t = (s32[], f32[4], s32[]) tuple(z, x, five) w = (s32[], f32[4], s32[]) while(t), body=body, condition=condition "
    "ROOT r = f32[4] get-tuple-element(w), index=1";

const Instruction* FindLoop(const Module& module) {
  for (const Instruction* instruction : module.entry()->Instructions()) {
    if (instruction->opcode() == Opcode::kWhile) return instruction;
  }
  return nullptr;
}

TEST(SimplifyWhileLoops, ConstantsMoveInsideAndLeaveTheTuple) {
  const auto module = Apply(Loop("0", kLimitFromState, "", "l", kTakeValue), SimplifyWhileLoops);
  const Instruction* loop = FindLoop(*module);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->shape().tuple_shapes.size(), 2u);
  EXPECT_EQ(TripCount(*loop), 5);
}

TEST(SimplifyWhileLoops, ElementsThatOnlyFeedThemselvesGo) {
  const auto module = Apply(Loop("0", kLimitConstant, "m = s32[] multiply(l, l)", "m", kTakeValue), SimplifyWhileLoops);
  EXPECT_EQ(FindLoop(*module)->shape().tuple_shapes.size(), 2u);
}

TEST(SimplifyWhileLoops, AnElementThatAnotherNeedsStays) {
  // The next counter takes element 2, which therefore is needed.
  const auto before = Parse(Loop("0", kLimitConstant, "m = s32[] add(l, j)", "m",
                                 StrCat("t = (s32[], f32[4], s32[]) tuple(z, x, five) w = (s32[], f32[4], s32[]) "
                                        "while(t), body=body, condition=condition "
                                        "ROOT r = s32[] get-tuple-element(w), index=2")));
  const auto after = before->Clone();
  ASSERT_TRUE(SimplifyWhileLoops(*after).ok());
  EXPECT_EQ(FindLoop(*after)->shape().tuple_shapes.size(), 2u);  // the value goes, the counter and the sum stay
  ASSERT_TRUE(VerifyModule(*after).ok()) << VerifyModule(*after);
  ExpectSameResults(*before, *after);
}

TEST(SimplifyWhileLoops, InvariantElementsAreReadFromOutside) {
  const auto module = Apply(Loop("0", kLimitConstant, "", "l", R"(t = (s32[], f32[4], s32[]) tuple(z, x, k)
      w = (s32[], f32[4], s32[]) while(t), body=body, condition=condition a = f32[4] get-tuple-element(w), index=1
      b = s32[] get-tuple-element(w), index=2 ROOT r = (f32[4], s32[]) tuple(a, b))"),
                            SimplifyWhileLoops);
  EXPECT_EQ(FindLoop(*module)->shape().tuple_shapes.size(), 2u);
  EXPECT_EQ(module->entry()->root()->operand(1)->opcode(), Opcode::kParameter);
}

TEST(SimplifyWhileLoops, KeepsALayoutThatABitcastReads) {
  const auto before = Parse(R"(HloModule m
    body { s = (s32[], f32[2,3]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[2,3] get-tuple-element(s), index=1
      one = s32[] constant(1) j = s32[] add(i, one) ROOT r = (s32[], f32[2,3]) tuple(j, x) }
    condition { s = (s32[], f32[2,3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[2,3]{1,0} parameter(0) z = s32[] constant(0) t = (s32[], f32[2,3]) tuple(z, x)
      w = (s32[], f32[2,3]) while(t), body=body, condition=condition g = f32[2,3]{0,1} get-tuple-element(w), index=1
      b = f32[6]{0} bitcast(g) i = s32[] get-tuple-element(w), index=0 ROOT r = (s32[], f32[6]{0}) tuple(i, b) })");
  const auto after = before->Clone();
  ASSERT_TRUE(SimplifyWhileLoops(*after).ok());
  EXPECT_EQ(FindLoop(*after)->shape().tuple_shapes.size(), 1u);  // the counter
  ExpectSameResults(*before, *after);
}

TEST(SimplifyWhileLoops, ZeroIterationsAreTheStart) {
  const auto module = Apply(Loop("7", kLimitConstant, "", "l", kTakeValue), SimplifyWhileLoops);
  EXPECT_EQ(FindLoop(*module), nullptr);
}

TEST(SimplifyWhileLoops, OneIterationIsTheBody) {
  const auto module = Apply(Loop("4", kLimitConstant, "", "l", kTakeValue), SimplifyWhileLoops);
  EXPECT_EQ(FindLoop(*module), nullptr);
  EXPECT_NE(OpcodesOf(*module).find("multiply"), std::string::npos);
}

TEST(SimplifyWhileLoops, ALoopThatIsTheRootKeepsItsForm) {
  const auto module =
      Apply(Loop("0", kLimitFromState, "", "l",
                 "t = (s32[], f32[4], s32[]) tuple(z, x, five) ROOT w = (s32[], f32[4], s32[]) while(t), "
                 "body=body, condition=condition"),
            SimplifyWhileLoops);
  EXPECT_EQ(FindLoop(*module)->shape().tuple_shapes.size(), 3u);
  EXPECT_EQ(TripCount(*FindLoop(*module)), 5);
}

TEST(SimplifyWhileLoops, ASharedBodyIsCopiedBeforeItChanges) {
  const auto module = Apply(Loop("0", kLimitFromState, "", "l", R"(t = (s32[], f32[4], s32[]) tuple(z, x, five)
      w = (s32[], f32[4], s32[]) while(t), body=body, condition=condition a = f32[4] get-tuple-element(w), index=1
      u = (s32[], f32[4], s32[]) tuple(z, x, k) v = (s32[], f32[4], s32[]) while(u), body=body, condition=condition
      b = f32[4] get-tuple-element(v), index=1 ROOT r = f32[4] subtract(a, b))"),
                            SimplifyWhileLoops);
  EXPECT_TRUE(VerifyModule(*module).ok());
}

TEST(TripCount, LooksIntoFusionsOfTheCounter) {
  const auto module = Parse(R"(HloModule m
next { i = s32[] parameter(0) c = s32[] constant(2) ROOT j = s32[] add(c, i) }
next_and_more { x = f32[4] parameter(0) i = s32[] parameter(1) c = s32[] constant(2) j = s32[] add(i, c) y = f32[4] negate(x)
  ROOT r = (f32[4], s32[]) tuple(y, j) }
is_less { i = s32[] parameter(0) c = s32[] constant(9) ROOT p = pred[] compare(i, c), direction=LT }
body { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[4] get-tuple-element(s), index=1
  j = s32[] fusion(i), kind=kLoop, calls=next ROOT r = (s32[], f32[4]) tuple(j, x) }
other_body { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1 f = (f32[4], s32[]) fusion(x, i), kind=kLoop, calls=next_and_more
  y = f32[4] get-tuple-element(f), index=0 j = s32[] get-tuple-element(f), index=1
  ROOT r = (s32[], f32[4]) tuple(j, y) }
condition { s = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(s), index=0
  ROOT p = pred[] fusion(i), kind=kLoop, calls=is_less }
ENTRY e { z = s32[] constant(0) x = f32[4] parameter(0) t = (s32[], f32[4]) tuple(z, x)
  v = (s32[], f32[4]) while(t), body=body, condition=condition y = f32[4] get-tuple-element(v), index=1
  u = (s32[], f32[4]) tuple(z, y) ROOT w = (s32[], f32[4]) while(u), body=other_body, condition=condition })");
  EXPECT_EQ(TripCount(*module->entry()->root()), 5);
  EXPECT_EQ(TripCount(*module->entry()->root()->operand(0)->operand(1)->operand(0)), 5);
}

TEST(TripCount, FollowsTheComparison) {
  auto count = [](std::string_view type, std::string_view start, std::string_view step, std::string_view bound,
                  std::string_view direction) {
    const auto module = Parse(StrCat(
        "HloModule m\nbody { s = (", type, "[]) parameter(0) i = ", type, "[] get-tuple-element(s), index=0 c = ", type,
        "[] constant(", step, ") j = ", type, "[] add(i, c) ROOT r = (", type, "[]) tuple(j) }\ncondition { s = (",
        type, "[]) parameter(0) i = ", type, "[] get-tuple-element(s), index=0 c = ", type, "[] constant(", bound,
        ") ROOT r = pred[] compare(i, c), direction=", direction, " }\nENTRY e { z = ", type, "[] constant(", start,
        ") t = (", type, "[]) tuple(z) ROOT w = (", type, "[]) while(t), body=body, condition=condition }"));
    return TripCount(*module->entry()->root());
  };
  EXPECT_EQ(count("s32", "0", "2", "9", "LT"), 5);
  EXPECT_EQ(count("s32", "0", "3", "9", "LE"), 4);
  EXPECT_EQ(count("s32", "9", "-2", "0", "GT"), 5);
  EXPECT_EQ(count("s32", "9", "-3", "0", "GE"), 4);
  EXPECT_EQ(count("s32", "0", "3", "9", "NE"), 3);
  EXPECT_EQ(count("s32", "0", "3", "9", "EQ"), 0);
  EXPECT_EQ(count("s32", "0", "2", "9", "NE"), std::nullopt);  // never meets 9 without wrapping
  EXPECT_EQ(count("s32", "0", "-1", "9", "LT"), std::nullopt);
  EXPECT_EQ(count("s32", "0", "0", "9", "LT"), std::nullopt);
  EXPECT_EQ(count("u8", "0", "100", "250", "LT"), std::nullopt);  // 0, 100, 200, then wraps
  EXPECT_EQ(count("s64", "-9223372036854775807", "9223372036854775807", "9223372036854775806", "LT"), 2);
  EXPECT_EQ(count("s64", "-9223372036854775807", "9223372036854775806", "9223372036854775806", "LE"), std::nullopt);
}

}  // namespace
}  // namespace smelt::hlo

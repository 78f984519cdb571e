#include "hlo/passes/while_invariant_motion.h"

#include "hlo/passes/while_simplifier.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

// A loop of three rounds over (counter, value, weights), whose weights `next2` hands on; `body` gives f32[64,64] y.
std::string Loop(std::string_view body, std::string_view next2 = "w") {
  return StrCat(R"(HloModule m
    sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    body { s = (s32[], f32[64,64], f32[64,64]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f32[64,64] get-tuple-element(s), index=1 w = f32[64,64] get-tuple-element(s), index=2
      one = s32[] constant(1) j = s32[] add(i, one) zero = f32[] constant(0) )",
                body, " ROOT r = (s32[], f32[64,64], f32[64,64]) tuple(j, y, ", next2, R"() }
    condition { s = (s32[], f32[64,64], f32[64,64]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[64,64] parameter(0) w = f32[64,64] parameter(1) z = s32[] constant(0)
      t = (s32[], f32[64,64], f32[64,64]) tuple(z, x, w)
      l = (s32[], f32[64,64], f32[64,64]) while(t), body=body, condition=condition
      ROOT r = f32[64,64] get-tuple-element(l), index=1 })");
}

const Instruction& LoopOf(const Module& module) {
  for (const Instruction* instruction : module.entry()->Instructions()) {
    if (instruction->opcode() == Opcode::kWhile) return *instruction;
  }
  ADD_FAILURE() << "no loop";
  return *module.entry()->root();
}

// Opcodes of the loop's body.
std::string Inside(const Module& module) {
  std::string opcodes;
  for (const Instruction* instruction : LoopOf(module).called(0)->PostOrder())
    opcodes += std::string(OpcodeName(instruction->opcode())) + " ";
  return opcodes;
}

TEST(MoveLoopInvariants, WorkOnInvariantElementsIsDoneBefore) {
  const auto module = Apply(Loop("e = f32[64,64] exponential(w) y = f32[64,64] multiply(x, e)"), MoveLoopInvariants);
  EXPECT_EQ(Inside(*module).find("exponential"), std::string::npos);
  EXPECT_EQ(LoopOf(*module).shape().tuple_shapes.size(), 4u);
  EXPECT_EQ(LoopOf(*module).operand(0)->operand(3)->opcode(), Opcode::kExp);
}

TEST(MoveLoopInvariants, WhatOnlyMovedInstructionsUseGoesWithThem) {
  const auto module = Apply(Loop(R"(e = f32[64,64] exponential(w) t = f32[64,64] transpose(e), dimensions={1,0}
      d = f32[64] reduce(t, zero), dimensions={1}, to_apply=sum b = f32[64,64] broadcast(d), dimensions={0}
      y = f32[64,64] multiply(x, b))"),
                            MoveLoopInvariants);
  EXPECT_EQ(Inside(*module).find("exponential"), std::string::npos);
  EXPECT_EQ(Inside(*module).find("reduce"), std::string::npos);
  // The broadcast is on its way in a kernel of the loop; the loop carries the sums.
  EXPECT_NE(Inside(*module).find("broadcast"), std::string::npos);
  EXPECT_EQ(LoopOf(*module).shape().tuple_shapes.size(), 4u);
  EXPECT_EQ(LoopOf(*module).shape().tuple_shapes[3].dimensions, std::vector<int64_t>{64});
}

TEST(MoveLoopInvariants, WhatComesFromConstantsAloneMovesToo) {
  const auto module = Apply(Loop(R"(k = f32[100000] iota(), iota_dimension=0 q = f32[100000] multiply(k, k)
      d = f32[] reduce(q, zero), dimensions={0}, to_apply=sum b = f32[64,64] broadcast(d), dimensions={}
      y = f32[64,64] add(x, b))"),
                            MoveLoopInvariants);
  EXPECT_EQ(Inside(*module).find("iota"), std::string::npos);
}

TEST(MoveLoopInvariants, LittleWorkStays) {
  const auto module = Parse(Loop(R"(q = s32[] multiply(one, one) f = f32[] convert(q)
      b = f32[64,64] broadcast(f), dimensions={} y = f32[64,64] add(x, b))"));
  EXPECT_FALSE(MoveLoopInvariants(*module).value());
}

TEST(MoveLoopInvariants, LargeResultsOfLittleWorkFromSmallOnesStay) {
  const auto module = Parse(Loop(R"(k = f32[64,1024] iota(), iota_dimension=1 q = f32[64,1024] multiply(k, k)
      v = f32[64,1024] pad(x, zero), padding=0_0x0_960 a = f32[64,1024] add(v, q)
      y = f32[64,64] slice(a), slice={[0:64], [0:64]})"));
  EXPECT_FALSE(MoveLoopInvariants(*module).value());
}

TEST(MoveLoopInvariants, WhatTheLoopChangesStays) {
  const auto module = Parse(Loop("e = f32[64,64] exponential(w) y = f32[64,64] multiply(x, e)", "y"));
  EXPECT_FALSE(MoveLoopInvariants(*module).value());
}

TEST(MoveLoopInvariants, IsDoneAfterOneRun) {
  const auto module = Apply(Loop("e = f32[64,64] exponential(w) y = f32[64,64] multiply(x, e)"), MoveLoopInvariants);
  EXPECT_FALSE(MoveLoopInvariants(*module).value());
  // The weights themselves need not be carried any more.
  EXPECT_TRUE(SimplifyWhileLoops(*module).value());
  EXPECT_EQ(LoopOf(*module).shape().tuple_shapes.size(), 3u);
}

TEST(MoveLoopInvariants, ALoopWhoseTupleIsTheResultKeepsItsShape) {
  std::string text = Loop("e = f32[64,64] exponential(w) y = f32[64,64] multiply(x, e)");
  const size_t at = text.find("l = (s32[]");
  text = text.substr(0, at) + "ROOT " + text.substr(at, text.find("ROOT r = f32[64,64] get") - at) + "}";
  const auto module = Apply(text, MoveLoopInvariants);
  EXPECT_EQ(module->entry()->root()->shape().tuple_shapes.size(), 3u);
  EXPECT_EQ(LoopOf(*module).shape().tuple_shapes.size(), 4u);
}

}  // namespace
}  // namespace smelt::hlo

#include "fuzz/reduce/reduce.h"

#include "fuzz/generate/generate.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;

bool Has(const hlo::Module& module, Opcode opcode) {
  for (const hlo::Computation* computation : module.Computations()) {
    for (const hlo::Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == opcode) return true;
    }
  }
  return false;
}

std::unique_ptr<hlo::Module> ReduceWhile(const hlo::Module& module, std::function<bool(const hlo::Module&)> fails) {
  ReduceOptions options;
  options.fails = [&](const hlo::Module& candidate) {
    EXPECT_TRUE(hlo::VerifyModule(candidate).ok()) << hlo::ToText(candidate);
    return fails(candidate);
  };
  return Reduce(module, options);
}

TEST(Reduce, KeepsTheOneInstructionThatMatters) {
  const auto module = hlo::ParseModule(R"(HloModule m
ENTRY e {
  x = f32[40,30] parameter(0)
  y = f32[30,20] parameter(1)
  d = f32[40,20] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="layer"}
  t = f32[40,20] tanh(d), metadata={op_name="activation"}
  s = f32[40,20] add(t, d)
  n = f32[40,20] negate(s)
  ROOT r = (f32[40,20], f32[40,20]) tuple(n, t)
})")
                          .value();
  const auto reduced = ReduceWhile(*module, [](const hlo::Module& m) { return Has(m, Opcode::kTanh); });
  ASSERT_EQ(reduced->instruction_count(), 2) << hlo::ToText(*reduced);
  EXPECT_EQ(reduced->entry()->root()->opcode(), Opcode::kTanh);
  EXPECT_EQ(reduced->entry()->root()->shape().ElementCount(), 1) << hlo::ToText(*reduced);
  EXPECT_TRUE(reduced->entry()->root()->raw_attributes().empty());
}

TEST(Reduce, OpensLoopsBranchesAndCalls) {
  const auto module = hlo::ParseModule(R"(HloModule m
f { a = f32[8] parameter(0) ROOT c = f32[8] cosine(a) }
g { a = f32[8] parameter(0) ROOT c = f32[8] call(a), to_apply=f }
h { a = f32[8] parameter(0) ROOT c = f32[8] negate(a) }
body {
  s = (s32[], f32[8], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  w = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  p = pred[] compare(i, one), direction=EQ
  b = f32[8] conditional(p, v, v), true_computation=g, false_computation=h
  ROOT t = (s32[], f32[8], f32[4]) tuple(j, b, w)
}
condition {
  s = (s32[], f32[8], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[4] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[8], f32[4]) tuple(zero, x, y)
  ROOT w = (s32[], f32[8], f32[4]) while(t), body=body, condition=condition
})")
                          .value();
  const auto reduced = ReduceWhile(*module, [](const hlo::Module& m) { return Has(m, Opcode::kCos); });
  EXPECT_LE(reduced->instruction_count(), 3) << hlo::ToText(*reduced);
}

TEST(Reduce, KeepsALoopThatMattersWithoutTheRest) {
  const auto module = hlo::ParseModule(R"(HloModule m
body {
  s = (s32[], f32[8], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  w = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  u = f32[8] sine(v)
  ROOT t = (s32[], f32[8], f32[4]) tuple(j, u, w)
}
condition {
  s = (s32[], f32[8], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[4] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[8], f32[4]) tuple(zero, x, y)
  w = (s32[], f32[8], f32[4]) while(t), body=body, condition=condition
  v = f32[8] get-tuple-element(w), index=1
  ROOT r = f32[8] exponential(v)
})")
                          .value();
  const auto reduced = ReduceWhile(*module, [](const hlo::Module& m) { return Has(m, Opcode::kWhile); });
  EXPECT_LE(reduced->instruction_count(), 8) << hlo::ToText(*reduced);
  EXPECT_TRUE(Has(*reduced, Opcode::kWhile));
}

TEST(Reduce, EndsWhenAskedToWithTheBestSoFar) {
  const auto module = GenerateModule(3, 5);
  ReduceOptions options;
  options.fails = [](const hlo::Module&) { return true; };
  int64_t shown = 0;
  options.progress = [&](const ReduceProgress&, const hlo::Module& best, bool improved) {
    EXPECT_TRUE(improved);
    EXPECT_TRUE(hlo::VerifyModule(best).ok());
    return ++shown < 2;
  };
  const auto reduced = Reduce(*module, options);
  EXPECT_EQ(shown, 2);
  EXPECT_LT(hlo::ToText(*reduced).size(), hlo::ToText(*module).size());
}

TEST(Reduce, MakesOnlyModulesThatVerifyOfRandomOnes) {
  for (uint64_t i = 0; i < 60; ++i) {
    const auto module = GenerateModule(11, i);
    const Opcode kept = module->entry()->root()->opcode() == Opcode::kTuple
                            ? module->entry()->root()->operand(0)->opcode()
                            : module->entry()->root()->opcode();
    ReduceOptions options;
    options.max_tries = 60;
    options.fails = [&](const hlo::Module& candidate) {
      EXPECT_TRUE(hlo::VerifyModule(candidate).ok()) << hlo::ToText(candidate);
      return Has(candidate, kept);
    };
    EXPECT_TRUE(Has(*Reduce(*module, options), kept)) << "seed 11, module " << i;
  }
}

}  // namespace
}  // namespace smelt::fuzz

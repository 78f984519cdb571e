// The rules of XLA's loop fusions (targets/xla/loop_rules.h), one test a rule.
#include "targets/xla/loop_rules.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "fusion/apply.h"
#include "fusion/legality.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

class XlaRules : public testing::Test {
 protected:
  void Use(std::string_view text) {
    module_ = Parse(text);
    space_ = std::make_unique<Space>(BuildSpace(*module_, xla::LoopRules()));
  }
  Config Everything() const {
    Config config(space_->size());
    for (int64_t d = 0; d < space_->size(); ++d) config.Set(d, true);
    return Legalize(*space_, config);
  }
  Reason WhyAlways(std::string_view producer, std::string_view consumer) const {
    return Why(*space_, Config(space_->size()), *FindInstruction(*module_, producer),
               *FindInstruction(*module_, consumer))
        .reason;
  }
  Reason WhyUnder(const Config& config, std::string_view producer, std::string_view consumer) const {
    return Why(*space_, config, *FindInstruction(*module_, producer), *FindInstruction(*module_, consumer)).reason;
  }

  std::unique_ptr<hlo::Module> module_;
  std::unique_ptr<Space> space_;
};

TEST_F(XlaRules, ComplexNumbersFuseAndContractionsStayAlone) {
  Use(R"(HloModule m
ENTRY main {
  x = c64[8,8]{1,0} parameter(0)
  n = c64[8,8]{1,0} negate(x)
  d = c64[8,8]{1,0} dot(n, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m = c64[8,8]{1,0} multiply(d, d)
  ROOT r = f32[8,8]{1,0} real(m)
})");
  EXPECT_EQ(WhyUnder(Everything(), "m", "r"), Reason::kLegal);
  EXPECT_EQ(WhyAlways("n", "d"), Reason::kOpaque);
  EXPECT_EQ(WhyAlways("d", "m"), Reason::kOpaque);
}

TEST_F(XlaRules, AReductionIsNotComputedAgainForEveryElement) {
  Use(R"(HloModule m
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[64,128]{1,0} parameter(0)
  e = f32[64,128]{1,0} exponential(x)
  zero = f32[] constant(0)
  s = f32[64]{0} reduce(e, zero), dimensions={1}, to_apply=sum
  spread = f32[64,128]{1,0} broadcast(s), dimensions={0}
  l = f32[64]{0} log(s)
  d = f32[64,128]{1,0} divide(e, spread)
  ROOT t = (f32[64,128]{1,0}, f32[64]{0}) tuple(d, l)
})");
  const Config all = Everything();
  EXPECT_EQ(WhyUnder(all, "s", "spread"), Reason::kRecompute);
  EXPECT_EQ(WhyUnder(all, "s", "l"), Reason::kLegal);
  EXPECT_EQ(WhyUnder(all, "e", "s"), Reason::kLegal);
}

constexpr char kLoop[] = R"(HloModule m
condition {
  p = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i, ten), direction=LT
}
body {
  q = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  state = f32[8]{0} get-tuple-element(q), index=1
  fixed = f32[8]{0} get-tuple-element(q), index=2
  one = s32[] constant(1)
  k = s32[] add(j, one)
  f = f32[8]{0} negate(state)
  g = f32[8]{0} negate(fixed)
  h = f32[8]{0} multiply(f, g)
  next = f32[8]{0} exponential(h)
  ROOT n = (s32[], f32[8]{0}, f32[8]{0}) tuple(k, next, fixed)
}
ENTRY main {
  x = f32[8]{0} parameter(0)
  y = f32[8]{0} parameter(1)
  zero = s32[] constant(0)
  a = f32[8]{0} abs(x)
  c = f32[8]{0} cosine(a)
  t = (s32[], f32[8]{0}, f32[8]{0}) tuple(zero, a, y)
  w = (s32[], f32[8]{0}, f32[8]{0}) while(t), condition=condition, body=body
  r = f32[8]{0} get-tuple-element(w), index=1
  ROOT z = f32[8]{0} add(r, c)
})";

TEST_F(XlaRules, ALoopsChangingStateIsReadWhereTheProgramReadsIt) {
  Use(kLoop);
  EXPECT_EQ(WhyAlways("f", "h"), Reason::kOverwritten);  // reads the state that the loop writes over
  EXPECT_EQ(WhyUnder(Everything(), "g", "h"), Reason::kLegal);
  EXPECT_EQ(WhyAlways("c", "z"), Reason::kOverwritten);  // reads what the loop starts from and writes over
}

TEST_F(XlaRules, WhatALoopPassesOnIsNotOverwritten) {
  Use(kLoop);
  const auto overwritten = xla::OverwrittenValues(*module_);
  EXPECT_TRUE(overwritten.contains(FindInstruction(*module_, "state")));
  EXPECT_TRUE(overwritten.contains(FindInstruction(*module_, "a")));
  EXPECT_FALSE(overwritten.contains(FindInstruction(*module_, "fixed")));
  EXPECT_FALSE(overwritten.contains(FindInstruction(*module_, "y")));
}

// A branch's result may lie where one of its arguments does: the state of a loop around it, which it replaces.
TEST_F(XlaRules, ABranchReadsItsArgumentsWhereTheProgramReadsThem) {
  Use(R"(HloModule m
left {
  p = (f32[8]{0}, f32[8]{0}) parameter(0)
  x = f32[8]{0} get-tuple-element(p), index=0
  y = f32[8]{0} get-tuple-element(p), index=1
  difference = f32[8]{0} subtract(x, y)
  new_x = f32[8]{0} negate(difference)
  new_y = f32[8]{0} exponential(difference)
  twice = f32[8]{0} cosine(new_y)
  ROOT r = (f32[8]{0}, f32[8]{0}) tuple(new_x, twice)
}
right {
  ROOT q = (f32[8]{0}, f32[8]{0}) parameter(0)
}
ENTRY main {
  which = s32[] parameter(0)
  a = f32[8]{0} parameter(1)
  b = f32[8]{0} parameter(2)
  t = (f32[8]{0}, f32[8]{0}) tuple(a, b)
  ROOT c = (f32[8]{0}, f32[8]{0}) conditional(which, t, t), branch_computations={left, right}
})");
  EXPECT_EQ(WhyAlways("difference", "new_x"), Reason::kOverwritten);
  EXPECT_EQ(WhyAlways("difference", "new_y"), Reason::kOverwritten);
  EXPECT_EQ(WhyUnder(Everything(), "new_y", "twice"), Reason::kLegal);
}

TEST_F(XlaRules, AnUpdateInPlaceKeepsItsReadersBeforeIt) {
  Use(R"(HloModule m
ENTRY main {
  x = f32[16]{0} parameter(0)
  u = f32[4]{0} parameter(1)
  i = s32[] parameter(2)
  base = f32[16]{0} negate(x)
  view = f32[4,4]{1,0} bitcast(base)
  before = f32[4,4]{1,0} exponential(view)
  twice = f32[4,4]{1,0} add(before, before)
  now = f32[16]{0} dynamic-update-slice(base, u, i)
  ROOT t = (f32[4,4]{1,0}, f32[16]{0}) tuple(twice, now)
})");
  EXPECT_EQ(WhyAlways("before", "twice"), Reason::kOverwritten);
  EXPECT_EQ(WhyAlways("base", "now"), Reason::kInPlace);
}

// p is donated: `next` is written where it lay.
TEST_F(XlaRules, ADonatedParameterIsReadOnTheWayToItsSuccessorOrWhereTheProgramReadsIt) {
  Use(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  g = f32[64,64]{1,0} parameter(1)
  decayed = f32[64,64]{1,0} multiply(p, p)
  next = f32[64,64]{1,0} subtract(decayed, g)
  norm = f32[64,64]{1,0} negate(next)
  ROOT out = (f32[64,64]{1,0}, f32[64,64]{1,0}) tuple(next, norm)
})");
  EXPECT_EQ(WhyUnder(Everything(), "decayed", "next"), Reason::kLegal);
  EXPECT_EQ(WhyAlways("next", "norm"), Reason::kOverwritten);
}

TEST_F(XlaRules, ADonatedParameterIsNotReadAcrossItsElements) {
  Use(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  g = f32[64,64]{1,0} parameter(1)
  doubled = f32[64,64]{1,0} add(p, p)
  turned = f32[64,64]{1,0} transpose(doubled), dimensions={1,0}
  next = f32[64,64]{1,0} subtract(turned, g)
  late = f32[64,64]{1,0} negate(p)
  other = f32[64,64]{1,0} add(late, next)
  ROOT out = (f32[64,64]{1,0}, f32[64,64]{1,0}) tuple(next, other)
})");
  EXPECT_EQ(WhyAlways("doubled", "turned"), Reason::kOverwritten);
  EXPECT_EQ(WhyAlways("late", "other"), Reason::kOverwritten);
  EXPECT_EQ(WhyUnder(Everything(), "turned", "next"), Reason::kLegal);
}

TEST_F(XlaRules, ACopyThatKeepsAValueIsMadeAndOneThatChangesTheLayoutMayFuse) {
  Use(R"(HloModule m
ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  kept = f32[8,4]{1,0} copy(x)
  a = f32[8,4]{1,0} negate(kept)
  turned = f32[8,4]{0,1} copy(a)
  ROOT b = f32[8,4]{0,1} negate(turned)
})");
  EXPECT_EQ(WhyAlways("kept", "a"), Reason::kOpaque);
  EXPECT_EQ(WhyUnder(Everything(), "turned", "b"), Reason::kLegal);
  EXPECT_FALSE(xla::RunsAsLoopFusion(*FindInstruction(*module_, "kept")));
  EXPECT_TRUE(xla::RunsAsLoopFusion(*FindInstruction(*module_, "turned")));
}

TEST_F(XlaRules, AStateThatOnlyACopyAtTheEndOfTheBodyOverwritesMayBeReadLate) {
  const std::string text = R"(HloModule m
body {
  s = (s32[], f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8]{0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  back = f32[8]{0} reverse(x), dimensions={0}
  y = f32[8]{0} add(back, x)
  END
}
cond {
  s = (s32[], f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[8]{0} parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[8]{0}) tuple(z, x)
  w = (s32[], f32[8]{0}) while(t), condition=cond, body=body
  ROOT r = f32[8]{0} get-tuple-element(w), index=1
})";
  const auto with = [&](const std::string& end) {
    std::string changed = text;
    return changed.replace(changed.find("END"), 3, end);
  };
  Use(with("ROOT t = (s32[], f32[8]{0}) tuple(j, y)").c_str());
  EXPECT_EQ(WhyAlways("back", "y"), Reason::kOverwritten);
  Use(with("late = f32[8]{0} copy(y)\n  ROOT t = (s32[], f32[8]{0}) tuple(j, late)").c_str());
  EXPECT_EQ(WhyUnder(Everything(), "back", "y"), Reason::kLegal);
  EXPECT_EQ(WhyAlways("y", "late"), Reason::kOpaque);
}

TEST_F(XlaRules, CodeIsNotRepeatedForEverMoreIndices) {
  // Each step reads the one before at two indices: 2, 4, 8, 16, ... places in the code.
  std::string text = "HloModule m\nENTRY main {\n  v0 = f32[64]{0} parameter(0)\n";
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&text, "  e", i, " = f32[", 64 - i, "]{0} negate(v", i, ")\n  a", i, " = f32[", 63 - i,
                    "]{0} slice(e", i, "), slice={[0:", 63 - i, "]}\n  b", i, " = f32[", 63 - i, "]{0} slice(e", i,
                    "), slice={[1:", 64 - i, "]}\n  ", i == 7 ? "ROOT " : "", "v", i + 1, " = f32[", 63 - i,
                    "]{0} add(a", i, ", b", i, ")\n");
  }
  Use(text + "}\n");
  std::vector<Dropped> dropped;
  Config config(space_->size());
  for (int64_t d = 0; d < space_->size(); ++d) config.Set(d, space_->decision(d).kind == DecisionKind::kEdge);
  const Config legal = Legalize(*space_, config, &dropped);
  ASSERT_FALSE(dropped.empty());
  EXPECT_EQ(dropped[0].reason, Reason::kEvaluations);
  EXPECT_EQ(WhyUnder(legal, "a7", "v8"), Reason::kLegal);
  EXPECT_EQ(WhyUnder(legal, "v7", "e7"), Reason::kLegal);
}

TEST_F(XlaRules, ResultsOfOneFusionLieInMemoryAlike) {
  Use(R"(HloModule m
ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  a = f32[64,64]{1,0} negate(x)
  b = f32[64,64]{0,1} copy(x)
  c = f32[64,64]{1,0} exponential(x)
  ROOT t = (f32[64,64]{1,0}, f32[64,64]{0,1}, f32[64,64]{1,0}) tuple(a, b, c)
})");
  std::vector<Dropped> dropped;
  Config config(space_->size());
  for (int64_t d = 0; d < space_->size(); ++d) config.Set(d, true);
  Legalize(*space_, config, &dropped);
  ASSERT_FALSE(dropped.empty());
  for (const Dropped& d : dropped) EXPECT_EQ(d.reason, Reason::kShapes) << space_->Name(d.decision);
}

}  // namespace
}  // namespace smelt::fusion

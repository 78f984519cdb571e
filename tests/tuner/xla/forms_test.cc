// What is done to a module on its way to XLA, without XLA.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "tuner/xla/default_layouts.h"
#include "tuner/xla/loop_fusions.h"

namespace smelt::tuner::xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<hlo::Module> Parse(const char* text) {
  auto module = hlo::ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

hlo::Literal Evaluated(const hlo::Module& module) {
  const std::vector<hlo::Literal> inputs = hlo::MakeInputs(module).value();
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  auto result = hlo::Evaluate(module, arguments, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

TEST(DefaultLayouts, BitcastsBecomeWhatTheyStandFor) {
  const auto module = Parse(R"(HloModule m, is_scheduled=true, entry_computation_layout={(f32[4,6]{0,1})->f32[3,8]{1,0}}

ENTRY main {
  x = f32[4,6]{0,1} parameter(0)
  a = f32[6,4]{1,0} bitcast(x)
  b = f32[24]{0} bitcast(a)
  c = f32[8,3]{0,1} bitcast(b)
  d = f32[3,8]{1,0} bitcast(c)
  ROOT e = f32[3,8]{1,0} negate(d)
}
)");
  auto plain = WithDefaultLayouts(*module);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(hlo::VerifyModule(**plain).ok());
  const std::string text = hlo::ToText(**plain, {});
  EXPECT_THAT(text, Not(HasSubstr("bitcast(")));
  EXPECT_THAT(text, Not(HasSubstr("{0,1}")));
  EXPECT_THAT(text, Not(HasSubstr("is_scheduled")));
  EXPECT_TRUE(Evaluated(*module) == Evaluated(**plain));
}

TEST(DefaultLayouts, ABitcastToAnotherWidthIsRefusedByName) {
  auto module = hlo::ParseModule(R"(HloModule m
ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT narrow = s8[16]{0} bitcast(x)
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto plain = WithDefaultLayouts(**module);
  ASSERT_FALSE(plain.ok());
  EXPECT_THAT(plain.status().message(), HasSubstr("narrow"));
}

TEST(LoopFusions, LoneInstructionsAreWrappedAndLargeOnesCut) {
  const auto module = Parse(R"(HloModule m

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[1,1024,512]{2,1,0} parameter(0)
  big = f32[1,1024,512]{2,1,0} multiply(x, x)
  zero = f32[] constant(0)
  s = f32[1,1024]{1,0} reduce(big, zero), dimensions={2}, to_apply=sum
  kept = f32[1,1024]{1,0} copy(s)
  ROOT small = f32[1,1024]{1,0} negate(kept)
}
)");
  const hlo::Literal before = Evaluated(*module);
  ToLoopFusions({.threads = 2}, module.get());
  ASSERT_TRUE(hlo::VerifyModule(*module).ok()) << hlo::VerifyModule(*module);
  const std::string text = hlo::ToText(*module, {});
  EXPECT_THAT(text, HasSubstr("fusion(%x), kind=kLoop, calls=%wrapped_big_computation, "
                              "backend_config={\"outer_dimension_partitions\":[\"1\",\"2\"]}"));
  EXPECT_THAT(text, HasSubstr("copy(%wrapped_s)"));
  EXPECT_TRUE(before == Evaluated(*module));
  for (const hlo::Instruction* instruction : module->entry()->Instructions()) {
    EXPECT_NE(instruction->opcode(), hlo::Opcode::kMultiply);
    EXPECT_NE(instruction->opcode(), hlo::Opcode::kReduce);
    if (instruction->name() == "wrapped_small") {
      EXPECT_TRUE(instruction->raw_attributes().empty());
    }
  }
}

TEST(LoopFusions, OneThreadNeedsNoParts) {
  const auto module = Parse(R"(HloModule m
ENTRY main {
  x = f32[4096,512]{1,0} parameter(0)
  ROOT big = f32[4096,512]{1,0} multiply(x, x)
}
)");
  ToLoopFusions({.threads = 1}, module.get());
  EXPECT_THAT(hlo::ToText(*module, {}), Not(HasSubstr("outer_dimension_partitions")));
}

}  // namespace
}  // namespace smelt::tuner::xla

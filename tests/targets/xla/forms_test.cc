// What is done to a module on its way to XLA, without XLA.
#include "absl/strings/str_cat.h"
#include "fusion/apply.h"
#include "fusion/legality.h"
#include "fusion/space.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "targets/xla/default_layouts.h"
#include "targets/xla/kernel_loop.h"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/loop_states.h"
#include "targets/xla/own_fusions.h"

namespace smelt::xla {
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

// A copy has the value of what it copies, however many stand in a row.
TEST(OwnFusions, AreFoundBehindCopies) {
  std::string chain = "  x0 = f32[8]{0} parameter(0)\n";
  constexpr int kCopies = 100;
  for (int i = 1; i <= kCopies; ++i) absl::StrAppend(&chain, "  x", i, " = f32[8]{0} copy(x", i - 1, ")\n");
  const auto ours = Parse(absl::StrCat("HloModule m\nENTRY main {\n", chain, "  e = f32[8]{0} exponential(x", kCopies,
                                       ")\n  ROOT n = f32[8]{0} negate(e)\n}\n")
                              .c_str());
  const auto theirs =
      Parse(absl::StrCat("HloModule m\nfused {\n  p = f32[8]{0} parameter(0)\n  e = f32[8]{0} "
                         "exponential(p)\n  ROOT n = f32[8]{0} negate(e)\n}\nENTRY main {\n",
                         chain, "  ROOT f = f32[8]{0} fusion(x", kCopies, "), kind=kLoop, calls=fused\n}\n")
                .c_str());
  const auto space = fusion::Space::Build(*ours, LoopRules());
  ASSERT_TRUE(space.ok()) << space.status();
  OwnFusionsReport report;
  const auto own = OwnFusions(*space, *theirs, &report);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(report.found, 1);
  EXPECT_EQ(own->Count(), 1);
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

TEST(DefaultLayouts, ACustomCallThatNamesItsLayoutsKeepsThem) {
  const auto module = Parse(R"(HloModule m
ENTRY main {
  x = f32[4,4]{0,1} parameter(0)
  named = (f32[4,4]{0,1}, s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  factor = f32[4,4]{0,1} get-tuple-element(named), index=0
  ROOT any = f32[4,4]{0,1} custom-call(factor), custom_call_target="any"
}
)");
  const auto plain = WithDefaultLayouts(*module);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(hlo::VerifyModule(**plain).ok());
  const std::string text = hlo::ToText(**plain, {});
  EXPECT_THAT(text, HasSubstr("%named = (f32[4,4]{0,1}, s32[]) custom-call("));
  EXPECT_THAT(text, HasSubstr("operand_layout_constraints={f32[4,4]{0,1}}"));
  EXPECT_THAT(text, HasSubstr("%factor = f32[4,4]{1,0}"));
  EXPECT_THAT(text, HasSubstr("%any = f32[4,4]{1,0}"));
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

constexpr char kStencil[] = R"(HloModule m

body {
  s = (s32[], f32[16]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[16]{0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  back = f32[16]{0} reverse(x), dimensions={0}
  half = f32[] constant(0.5)
  halves = f32[16]{0} broadcast(half), dimensions={}
  scaled = f32[16]{0} multiply(back, halves)
  y = f32[16]{0} add(scaled, x)
  ROOT t = (s32[], f32[16]{0}) tuple(j, y)
}

cond {
  s = (s32[], f32[16]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}

ENTRY main {
  x = f32[16]{0} parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[16]{0}) tuple(z, x)
  w = (s32[], f32[16]{0}) while(t), condition=cond, body=body
  ROOT r = f32[16]{0} get-tuple-element(w), index=1
}
)";

TEST(LoopStates, ACopyStaysWhereAFusionReadsTheOldValueAtOtherPlaces) {
  const auto module = Parse(kStencil);
  const hlo::Literal before = Evaluated(*module);
  OverwriteLate(module.get());
  EXPECT_TRUE(hlo::VerifyModule(*module).ok());
  EXPECT_TRUE(Evaluated(*module) == before);
  EXPECT_EQ(module->FindInstruction("t")->parent(), module->FindInstruction("y")->parent());
  auto space = fusion::Space::Build(*module, xla::LoopRules());
  ASSERT_TRUE(space.ok()) << space.status();
  for (const bool fuse : {false, true}) {
    fusion::Config config(space->size());
    for (int64_t d = 0; fuse && d < space->edge_count(); ++d) config.Set(d, true);
    const std::unique_ptr<hlo::Module> fused = fusion::Apply(*space, fusion::Legalize(*space, config));
    SettleOverwriting(fused.get());
    EXPECT_TRUE(hlo::VerifyModule(*fused).ok());
    EXPECT_TRUE(Evaluated(*fused) == before);
    const std::string text = hlo::ToText(*fused, {});
    EXPECT_EQ(text.find("copy(") != std::string::npos, fuse) << text;
  }
}

TEST(KernelLoop, RunsTheKernelAsOftenAsItsFirstArgumentSays) {
  const auto module = Parse(R"(HloModule m
ENTRY main {
  x = f32[4,6]{0,1} parameter(0)
  u = f32[1,6]{0,1} parameter(1)
  k = s32[] parameter(2)
  z = s32[] parameter(3)
  ROOT d = f32[4,6]{0,1} dynamic-update-slice(x, u, k, z)
}
)");
  const fusion::Kernel kernel = fusion::ExtractKernel(*module->entry()->root(), /*layouts=*/true).value();
  const auto loop = KernelLoop(kernel, {});
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_TRUE(hlo::VerifyModule(**loop).ok());
  const std::string text = hlo::ToText(**loop, {});
  // Arguments lie in the default layout, and what is updated in place goes on from run to run.
  EXPECT_THAT(text, HasSubstr("f32[6,4]{1,0} parameter(1)"));
  EXPECT_THAT(text, HasSubstr("while("));
  std::vector<hlo::Literal> inputs = hlo::MakeInputs(**loop).value();
  inputs[0] = hlo::Literal::FromValues<int32_t>(hlo::PrimitiveType::kS32, {}, {7});
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  const auto count = hlo::Evaluate(**loop, arguments, {});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->data<int32_t>()[0], 7);
}

}  // namespace
}  // namespace smelt::xla

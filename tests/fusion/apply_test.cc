#include "fusion/apply.h"

#include <gtest/gtest.h>

#include "fusion/heuristics/heuristics.h"
#include "fusion/kernel.h"
#include "fusion/legality.h"
#include "fusion/unfuse.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "tests/fusion/programs.h"

namespace smelt::fusion {
namespace {

hlo::Literal Results(const hlo::Module& module, const std::vector<hlo::Literal>& inputs) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  absl::StatusOr<hlo::Literal> result = hlo::Evaluate(module, arguments);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? std::move(*result) : hlo::Literal();
}

TEST(Unfuse, TakesCustomFusionsApartLikeOthers) {
  const auto module = Parse(R"(HloModule m
body { a = f32[8] parameter(0)  e = f32[8] exponential(a)  ROOT n = f32[8] negate(e) }
ENTRY main { p = f32[8] parameter(0)
  ROOT f = f32[8] fusion(p), kind=kCustom, calls=body, backend_config={"fusion_backend_config":{"kind":"__triton"}} })");
  const auto unfused = Unfuse(*module);
  ASSERT_TRUE(unfused.ok()) << unfused.status();
  EXPECT_EQ(unfused->fusions, 1);
  const auto inputs = hlo::MakeInputs(*module);
  ASSERT_TRUE(inputs.ok());
  EXPECT_TRUE(Results(*unfused->module, *inputs) == Results(*module, *inputs));
  EXPECT_EQ(unfused->module->entry()->root()->opcode(), hlo::Opcode::kNegate);
}

class ApplyToPrograms : public testing::TestWithParam<Program> {};

INSTANTIATE_TEST_SUITE_P(Random, ApplyToPrograms, testing::ValuesIn(Programs()),
                         [](const auto& info) { return std::string(info.param.name); });

// The evaluator runs instructions one at a time, inside fusions as outside, so results must be equal to the last bit.
TEST_P(ApplyToPrograms, ComputesTheSameUnderRandomConfigurations) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  const auto inputs = hlo::MakeInputs(*module);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const hlo::Literal want = Results(*module, *inputs);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Config config = RandomFusion(space, seed % 4 == 3 ? 0.9 : 0.6, seed);
    const auto fused = Apply(space, config);
    ASSERT_TRUE(hlo::VerifyModule(*fused).ok()) << hlo::VerifyModule(*fused) << hlo::ToText(*fused);
    EXPECT_TRUE(Results(*fused, *inputs) == want) << hlo::ToText(*fused);
  }
}

TEST_P(ApplyToPrograms, PrintsToTextThatReadsBackAsTheSame) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::string text = hlo::ToText(*Apply(space, RandomFusion(space, 0.8, seed)));
    const auto again = hlo::ParseModule(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(hlo::ToText(**again), text);
  }
}

TEST_P(ApplyToPrograms, KeepsNamesAndGivesTheSameTextAgain) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  const Config config = RandomFusion(space, 0.7, 5);
  EXPECT_EQ(hlo::ToText(*Apply(space, config)), hlo::ToText(*Apply(BuildSpace(*module), config)));
}

TEST_P(ApplyToPrograms, LegalisesToAConfigurationThatStaysAsItIs) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Config config = RandomFusion(space, 0.9, seed);
    std::vector<Dropped> dropped;
    EXPECT_EQ(Legalize(space, config, &dropped), config) << "seed " << seed;
    EXPECT_TRUE(dropped.empty());
  }
}

TEST_P(ApplyToPrograms, HeuristicsComputeTheSame) {
  const auto module = Parse(GetParam().text);
  const Space space = BuildSpace(*module);
  const auto inputs = hlo::MakeInputs(*module);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const hlo::Literal want = Results(*module, *inputs);
  for (const std::string& name : HeuristicNames()) {
    const auto config = Heuristic(name, space);
    ASSERT_TRUE(config.ok()) << config.status();
    const auto fused = Apply(space, *config);
    ASSERT_TRUE(hlo::VerifyModule(*fused).ok()) << hlo::VerifyModule(*fused);
    EXPECT_TRUE(Results(*fused, *inputs) == want) << name << hlo::ToText(*fused);
  }
}

TEST(Apply, NamesTheModuleBeforeFusionInTheHeader) {
  const auto module = Parse(ProgramText("softmax"));
  const Space space = BuildSpace(*module);
  const std::string text = hlo::ToText(*Apply(space, Config(space.size())));
  EXPECT_NE(text.find(space.fingerprint().ToHex()), std::string::npos) << text;
}

TEST(Apply, AddsToFrontendAttributesThatAreThere) {
  const auto module = Parse(R"(
HloModule m, frontend_attributes={who="me"}
ENTRY main { x = f32[4] parameter(0)  ROOT y = f32[4] negate(x) })");
  const Space space = BuildSpace(*module);
  const auto again = hlo::ParseModule(hlo::ToText(*Apply(space, Config(space.size()))));
  ASSERT_TRUE(again.ok()) << again.status();
  const std::string text = hlo::ToText(**again);
  EXPECT_NE(text.find("who=\"me\""), std::string::npos) << text;
  EXPECT_NE(text.find("smelt_before_fusion="), std::string::npos) << text;
}

TEST(Apply, SharesAnIntermediateResultAsASecondOutput) {
  const auto module = Parse(ProgramText("adam"));
  const Space space = BuildSpace(*module);
  Config config(space.size());
  for (int64_t d = 0; d < space.edge_count(); ++d) config.Set(d, true);
  EXPECT_EQ(KernelsOf(*Apply(space, config)).size(), 3);
  config.Set(FindDecision(space, "share m.new"), true);
  config.Set(FindDecision(space, "share v.new"), true);
  const auto fused = Apply(space, config);
  const auto kernels = ExtractKernels(*fused);
  ASSERT_EQ(kernels->size(), 1);
  EXPECT_EQ((*kernels)[0].computation().root()->shape().tuple_shapes.size(), 3);
}

TEST(Apply, LeavesOutDeadInstructions) {
  const auto module = Parse(R"(
ENTRY main { x = f32[4] parameter(0)  dead = f32[4] exponential(x)  ROOT y = f32[4] negate(x) })");
  const Space space = BuildSpace(*module);
  EXPECT_EQ(Apply(space, Config(space.size()))->instruction_count(), 2);
}

TEST(Apply, KeepsControlDependencies) {
  const auto module = Parse(ProgramText("ordered"));
  const Space space = BuildSpace(*module);
  const auto fused = Apply(space, RandomFusion(space, 1, 0));
  const hlo::Instruction* c = FindInstruction(*fused, "c");
  ASSERT_EQ(c->control_predecessors().size(), 1);
  EXPECT_EQ(c->control_predecessors()[0]->name(), "b");
}

}  // namespace
}  // namespace smelt::fusion

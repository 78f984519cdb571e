// Configuration spaces: every snippet has one, its points are numbers and texts, and what they make agrees with the
// evaluator.
#include "kernels/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/random/random.h"
#include "hlo/text/parser.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "tests/kernels/agreement/agreement.h"
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kSeed = 20;

machine::Machine TwoThreads() {
  machine::Machine machine;
  machine.threads = 2;
  return machine;
}

std::unique_ptr<hlo::Module> Product(int64_t rows, int64_t columns, int64_t sum) {
  return hlo::ParseModule(absl::StrCat("HloModule m\nENTRY e {\n  x = f32[", rows, ",", sum,
                                       "] parameter(0)\n  w = f32[", sum, ",", columns,
                                       "] parameter(1)\n  ROOT p = f32[", rows, ",", columns,
                                       "] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"))
      .value();
}

std::string Disagreement(const schedule::Schedule& schedule, const Reference& reference) {
  const absl::StatusOr<ir::Function> function = lower::Lower(schedule, {});
  if (!function.ok()) return std::string(function.status().message());
  std::vector<hlo::Literal> outputs;
  std::vector<void*> arguments;
  for (const hlo::Literal& input : reference.inputs) arguments.push_back(const_cast<void*>(input.raw()));
  for (const hlo::Literal& want : reference.outputs) outputs.emplace_back(want.shape());
  for (hlo::Literal& output : outputs) arguments.push_back(output.raw());
  const absl::Status status = ir::Interpret(*function, arguments, {.reverse_parallel = true});
  return status.ok() ? Difference(outputs, reference.outputs) : std::string(status.message());
}

class ConfigSnippet : public ::testing::TestWithParam<Snippet> {};

TEST_P(ConfigSnippet, PointsRoundTripAndAgreeWithTheEvaluator) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const Reference reference = MakeReference(*module);
  const absl::StatusOr<ConfigSpace> space = SpaceOf(*module->entry(), TwoThreads());
  ASSERT_TRUE(space.ok()) << space.status();
  std::seed_seq seed{kSeed};
  absl::BitGen bits(seed);
  const Config usual = space->Default(), random = space->Random(bits);
  for (const Config& config : {usual, random, space->Mutate(random, bits)}) {
    EXPECT_TRUE(space->Check(config).ok()) << config.ToString();
    EXPECT_TRUE(space->At(space->IndexOf(config)) == config) << config.ToString();
    const absl::StatusOr<Config> parsed = space->Parse(config.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(*parsed == config);
    EXPECT_EQ(parsed->Hash(), config.Hash());
    EXPECT_EQ(space->KnobFeatures(config).size(), space->KnobFeatureCount());
    const absl::StatusOr<schedule::Schedule> schedule = space->ScheduleFor(config);
    ASSERT_TRUE(schedule.ok()) << config.ToString() << ": " << schedule.status();
    ASSERT_EQ(Disagreement(*schedule, reference), "") << config.ToString() << "\n" << schedule->ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConfigSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ConfigSpace, MutationChangesOneKnob) {
  const std::unique_ptr<hlo::Module> module = Product(64, 96, 80);
  const ConfigSpace space = SpaceOf(*module->entry(), TwoThreads()).value();
  std::seed_seq seed{kSeed};
  absl::BitGen bits(seed);
  Config config = space.Default();
  for (int step = 0; step < 200; ++step) {
    const Config next = space.Mutate(config, bits);
    int changed = 0;
    for (size_t k = 0; k < next.values().size(); ++k) changed += next.values()[k] != config.values()[k] ? 1 : 0;
    ASSERT_EQ(changed, 1) << config.ToString() << "\n" << next.ToString();
    ASSERT_TRUE(space.Check(next).ok());
    config = next;
  }
}

TEST(ConfigSpace, OfContractionsIsLarge) {
  for (const auto& [rows, columns, sum] :
       {std::tuple(1024, 1024, 1024), std::tuple(1, 2600, 650), std::tuple(128, 64, 128)}) {
    const std::unique_ptr<hlo::Module> module = Product(rows, columns, sum);
    EXPECT_GE(SpaceOf(*module->entry(), TwoThreads())->size(), absl::uint128(1000000)) << rows << "x" << columns;
  }
}

// What the templates make, as far as the space has it: the loops that threads share come in at least as many pieces.
TEST(ConfigSpace, DefaultIsWhatTheTemplatesChooseInBalancedPieces) {
  const std::unique_ptr<hlo::Module> module = Product(512, 512, 512);
  const ConfigSpace space = SpaceOf(*module->entry(), TwoThreads()).value();
  const std::string text = space.Default().ToString();
  EXPECT_THAT(text, HasSubstr("vectors=i1"));
  // 16 strips of columns for two threads: each packs those that it reads.
  EXPECT_THAT(text, AllOf(HasSubstr("pack.p1=tile"), HasSubstr("parallel=1 ")));
  const absl::StatusOr<ir::Function> function = lower::LowerToLoops(space.ScheduleFor(space.Default()).value(), {});
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_GE(function->phases.back().extent, 2);
}

// The steps that templates unroll, their blocks and the runs in which they pack are those of the default point.
TEST(ConfigSpace, DefaultUnrollsAndPacksAsTheTemplatesDo) {
  const std::unique_ptr<hlo::Module> few_rows = Product(8, 512, 512);
  EXPECT_THAT(SpaceOf(*few_rows->entry(), TwoThreads()).value().Default().ToString(), HasSubstr("r0=1x256x2"));
  const std::unique_ptr<hlo::Module> module = Product(512, 512, 512);
  EXPECT_THAT(SpaceOf(*module->entry(), TwoThreads()).value().Default().ToString(), Not(HasSubstr("packed_run=0")));
}

// Three strips of columns: two threads share the rows of one, and what both read is packed before.
TEST(ConfigSpace, DefaultPacksAtTheRootWhatSeveralThreadsRead) {
  const std::unique_ptr<hlo::Module> module = Product(512, 96, 512);
  const std::string text = SpaceOf(*module->entry(), TwoThreads()).value().Default().ToString();
  EXPECT_THAT(text, HasSubstr("pack.p1=root"));
}

// Square blocks, which codegen transposes in registers: keys of attention.
TEST(ConfigSpace, PacksAcrossTheVectorsRoundByRound) {
  const std::unique_ptr<hlo::Module> module =
      hlo::ParseModule(
          "HloModule m\nENTRY e {\n  x = f32[64,80] parameter(0)\n  w = f32[96,80] parameter(1)\n"
          "  ROOT p = f32[64,96] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n")
          .value();
  const ConfigSpace space = SpaceOf(*module->entry(), TwoThreads()).value();
  EXPECT_THAT(space.ScheduleFor(space.Default())->ToString(),
              ::testing::ContainsRegex("vectorize p1\\.[a-z]+ i0.inner\nreorder p1\\.[a-z]+ i0.outer i1 i0.inner\n"));
}

// The right operand's rows lie across the sum.
TEST(ConfigSpace, RefusesVectorsThatWouldBeGatheredAlongTheSum) {
  const std::unique_ptr<hlo::Module> module = Product(512, 512, 512);
  const ConfigSpace space = SpaceOf(*module->entry(), TwoThreads()).value();
  std::string text = space.Default().ToString();
  for (const auto& [knob, option] : {std::pair("i0=", "512x1x1"), {"i1=", "32x1x16"}, {"vectors=", "sum"}}) {
    const size_t at = text.find(knob) + std::string(knob).size();
    text.replace(at, text.find(' ', at) - at, option);
  }
  const absl::Status status = space.Check(space.Parse(text).value());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("would be gathered from `p1`"));
}

// Each tap of a window may be a block of the sum by itself: what is packed of the weights is then one tap's.
TEST(ConfigSpace, TapsMayBeBlocks) {
  const Knob knob = SumKnob("r0", 3, /*blocks=*/true);
  EXPECT_THAT(knob.options, testing::UnorderedElementsAre("3x1x1", "1x3x1", "1x1x3"));
  EXPECT_EQ(SumKnob("r0", 64, /*blocks=*/true).Find({64, 1, 1}), -1);
}

TEST(ConfigSpace, RefusesWhatTheMachineHasNoRoomForNamingStageAndLoop) {
  const std::unique_ptr<hlo::Module> module = Product(512, 512, 512);
  machine::Machine machine = TwoThreads();
  machine.vector_registers = 16;
  machine.vector_bytes = 32;
  const ConfigSpace space = SpaceOf(*module->entry(), machine).value();
  std::string text = space.Default().ToString();
  // Twelve rows of four vectors are 48 accumulators.
  const auto set = [&](const std::string& knob, const std::string& option) {
    const size_t at = text.find(knob + "=") + knob.size() + 1;
    text.replace(at, text.find(' ', at) - at, option);
  };
  set("vectors", "i1");
  set("lanes_divisor", "1");
  set("i0", "43x1x12");
  set("i1", "16x1x32");
  const absl::StatusOr<Config> config = space.Parse(text);
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::Status status = space.ScheduleFor(*config).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("stage `dot_0`"), HasSubstr("loop `i1`"), HasSubstr("accumulators")));
}

TEST(ConfigSpace, ErrorsOfTextsNameTheWord) {
  const std::unique_ptr<hlo::Module> module = Product(64, 64, 64);
  const ConfigSpace space = SpaceOf(*module->entry(), TwoThreads()).value();
  const std::string good = space.Default().ToString();
  const auto message = [&](const std::string& text) { return std::string(space.Parse(text).status().message()); };
  EXPECT_THAT(message(good + " colour=red"), HasSubstr("`colour=red` sets no knob"));
  EXPECT_THAT(message("i0=3x3x3x3"), HasSubstr("knob `i0` has no option `3x3x3x3`"));
  EXPECT_THAT(message(good + " " + good.substr(0, good.find(' '))), HasSubstr("knob `i0` is set twice"));
  EXPECT_THAT(message(""), HasSubstr("knob `i0` is not set"));
  EXPECT_THAT(message("default"), HasSubstr("`default` sets no knob"));
}

TEST(ConfigSpace, AConfigurationOfAnotherKernelIsRefused) {
  const std::unique_ptr<hlo::Module> one = Product(64, 64, 64), other = Product(77, 64, 64);
  const Config config = SpaceOf(*one->entry(), TwoThreads())->Default();
  EXPECT_FALSE(ScheduleFor(*other->entry(), config, TwoThreads()).ok());
  EXPECT_TRUE(ScheduleFor(*one->entry(), config, TwoThreads()).ok());
}

}  // namespace
}  // namespace smelt::kernels::config

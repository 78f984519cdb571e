// Random legal configurations of every example program: valid by the verifier, printed and read back alike, compiled,
// run, and equal to the evaluator's result on the unfused program.
//
// SMELT_RANDOM_CONFIGURATIONS=200 build/release/tests/tuner/tuner_test --gtest_filter='*RandomConfigurations*' is the
// long form; 10 of each by default.
#include <cstdlib>
#include <filesystem>

#include "fusion/apply.h"
#include "fusion/heuristics/heuristics.h"
#include "fusion/rules.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/fingerprint.h"
#include "hlo/golden/golden.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"

namespace smelt::tuner {
namespace {

namespace fs = std::filesystem;

int Count() {
  const char* count = std::getenv("SMELT_RANDOM_CONFIGURATIONS");
  return count == nullptr ? 10 : std::max(1, std::atoi(count));
}

void AppendLeaves(const hlo::Literal& value, std::vector<const hlo::Literal*>* leaves) {
  if (!value.shape().IsTuple()) {
    leaves->push_back(&value);
    return;
  }
  for (const hlo::Literal& element : value.elements()) AppendLeaves(element, leaves);
}

class RandomConfigurations : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomConfigurations, ComputeWhatTheUnfusedProgramComputes) {
  const fs::path models = fs::path(SMELT_SOURCE_DIR) / "models";
  auto program = targets::LoadProgram((models / (GetParam() + ".hlo")).string());
  ASSERT_TRUE(program.ok()) << program.status();
  auto golden = hlo::Golden::Load((models / "golden" / (GetParam() + ".safetensors")).string());
  ASSERT_TRUE(golden.ok()) << golden.status();
  auto inputs = golden->MakeInputs(*program->original);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  std::vector<const hlo::Literal*> arguments, input_leaves, expected;
  for (const hlo::Literal& input : *inputs) {
    arguments.push_back(&input);
    AppendLeaves(input, &input_leaves);
  }
  auto want = hlo::Evaluate(*program->original, arguments);
  ASSERT_TRUE(want.ok()) << want.status();
  AppendLeaves(*want, &expected);

  auto target = cpu::ParseTarget("cpu:threads=2");
  ASSERT_TRUE(target.ok());
  auto space = fusion::Space::Build(program->module(), fusion::Rules::OwnKernels());
  ASSERT_TRUE(space.ok()) << space.status();
  cpu::KernelCache cache;
  for (int i = 0; i < Count(); ++i) {
    const double probability = 0.15 + 0.7 * (i % 5) / 4;
    SCOPED_TRACE("probability " + std::to_string(probability) + ", seed " + std::to_string(i + 1));
    const fusion::Config config = fusion::RandomFusion(*space, probability, static_cast<uint64_t>(i + 1));
    const std::unique_ptr<hlo::Module> fused = fusion::Apply(*space, config);
    ASSERT_TRUE(hlo::VerifyModule(*fused).ok()) << hlo::VerifyModule(*fused);
    auto again = hlo::ParseModule(hlo::ToText(*fused, {}));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(hlo::Fingerprint(**again), hlo::Fingerprint(*fused));
    auto executable = cpu::Executable::Compile(*fused, *target, {.cache = &cache});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto got = (*executable)->Run(input_leaves);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      auto error = hlo::ComparisonError(*expected[k], (*got)[k], hlo::GoldenMetric::kRms);
      ASSERT_TRUE(error.ok()) << error.status();
      EXPECT_LE(*error, 1e-4) << "output " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RandomConfigurations,
                         ::testing::Values("resnet18", "mobilenet", "lstm_lm", "dqn", "dcgan_generator", "bert_block",
                                           "attention", "train_step", "gray_scott"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace smelt::tuner

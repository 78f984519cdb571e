#include "fuzz/trial/expectation.h"

#include <unistd.h>

#include <memory>

#include "fuzz/campaign.h"
#include "fuzz/generate/generate.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/parser.h"
#include "nlohmann/json.hpp"
#include "tests/scratch_folder.h"

namespace smelt::fuzz {
namespace {

std::unique_ptr<hlo::Module> Parse(const std::string& body) {
  return hlo::ParseModule("HloModule m\nENTRY main {\n" + body + "\n}\n").value();
}

TEST(Expectation, WhatRoundsHasATolerance) {
  const auto module = Parse(R"(
  x = f32[8] parameter(0)
  n = s32[8] parameter(1)
  e = f32[8] exponential(x)
  m = s32[8] add(n, n)
  ROOT t = (f32[8], s32[8]) tuple(e, m))");
  const Expectation expected = Expect(*module, 3, 10).value();
  ASSERT_EQ(expected.outputs.size(), 2u);
  EXPECT_GT(expected.tolerances[0], 0);
  EXPECT_LT(expected.tolerances[0], 1e-3);
  EXPECT_EQ(expected.tolerances[1], 0);
  const hlo::Literal want = hlo::Evaluate(*module, {&expected.inputs[0], &expected.inputs[1]}).value();
  EXPECT_EQ(expected.outputs[1], want.elements()[1]);
}

TEST(Expectation, WhatRoundingDecidesMayBeAnything) {
  const auto module = Parse(R"(
  x = f32[64] parameter(0)
  s = f32[64] sine(x)
  c = f32[64] cosine(s)
  f = f32[64] sine(c)
  g = f32[64] sine(c)
  e = f32[64] subtract(f, g)
  ROOT r = f32[64] sign(e))");
  EXPECT_GT(Expect(*module, 3, 10)->tolerances[0], 0.5);
}

TEST(Expectation, CampaignWritesModulesInputsAndResults) {
  const ScratchFolder scratch;
  CampaignOptions options;
  options.seed = 4;
  options.modules = 3;
  options.expect_only = true;
  options.folder = scratch.In("expected");
  const CampaignReport report = RunCampaign(options).value();
  EXPECT_EQ(report.modules, 3);
  EXPECT_TRUE(report.findings.empty());
  int64_t written = 0;
  for (const char* name : {"4-0", "4-1", "4-2"}) {
    const std::string folder = options.folder + "/" + name;
    if (::access(folder.c_str(), R_OK) != 0) continue;  // refused
    ++written;
    EXPECT_EQ(::access((folder + "/module.hlo").c_str(), R_OK), 0);
    EXPECT_TRUE(hlo::ReadSafetensors(folder + "/inputs.safetensors").ok());
    const hlo::SafetensorsFile outputs = hlo::ReadSafetensors(folder + "/expected.safetensors").value();
    EXPECT_EQ(nlohmann::json::parse(outputs.metadata.at("tolerances")).size(), outputs.tensors.size());
  }
  EXPECT_EQ(written + report.refused, 3);
}

TEST(Expectation, NeedsAFolder) {
  CampaignOptions options;
  options.expect_only = true;
  EXPECT_EQ(RunCampaign(options).status().code(), absl::StatusCode::kInvalidArgument);
}

// The inputs of a module are those that it had as a random one of the same seed and number.
TEST(Campaign, TakesAModuleInsteadOfRandomOnes) {
  const ScratchFolder folder;
  CampaignOptions options;
  options.seed = 4;
  options.first = 7;
  options.modules = 1;
  options.expect_only = true;
  options.module = GenerateModule(4, 7);
  options.folder = folder.In("given");
  EXPECT_EQ(RunCampaign(options)->modules, 1);
  options.module = nullptr;
  options.folder = folder.In("random");
  EXPECT_EQ(RunCampaign(options)->modules, 1);
  for (const char* file : {"inputs", "expected"}) {
    const auto given = hlo::ReadSafetensors(folder.In("given/4-7/") + file + ".safetensors").value();
    const auto random = hlo::ReadSafetensors(folder.In("random/4-7/") + file + ".safetensors").value();
    ASSERT_EQ(given.tensors.size(), random.tensors.size());
    for (size_t i = 0; i < given.tensors.size(); ++i) {
      EXPECT_EQ(given.tensors[i].literal, random.tensors[i].literal) << file << " " << i;
    }
  }
}

}  // namespace
}  // namespace smelt::fuzz

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "targets/cpu/processor/detect.h"
#include "tests/scratch_folder.h"

namespace smelt::cpu {
namespace {

TEST(Target, ParsesWhatItPrints) {
  for (const char* text : {"cpu:znver4,threads=2", "cpu:haswell,threads=1", "cpu:neoverse-n1,threads=64"}) {
    auto target = ParseTarget(text);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->ToString(), text);
  }
  EXPECT_EQ(ParseTarget("cpu:haswell")->vector_bytes, 32);
  EXPECT_EQ(ParseTarget("cpu:haswell")->vector_registers, 16);
  EXPECT_EQ(ParseTarget("cpu:znver4")->vector_bytes, 64);
  EXPECT_EQ(ParseTarget("cpu:neoverse-n1")->vector_bytes, 16);
}

TEST(Target, RefusesWhatItDoesNotKnowByName) {
  struct Case {
    const char* text;
    const char* named;
  };
  for (const Case& c : {Case{"cuda", "cuda"},
                        {"cpu:abacus", "abacus"},
                        {"cpu:threads=0", "threads"},
                        {"cpu:threads=x", "threads=x"},
                        {"cpu:znver4,haswell", "haswell"},
                        {"cpu:fast=1", "fast=1"},
                        {"", "expected cpu"},
                        {"cpu:", "cpu:"}}) {
    auto target = ParseTarget(c.text);
    ASSERT_FALSE(target.ok()) << c.text;
    EXPECT_NE(target.status().message().find(c.named), std::string::npos) << target.status();
  }
}

TEST(Target, HashesWhatChangesCode) {
  const Target a = *ParseTarget("cpu:znver4,threads=1");
  const Target b = *ParseTarget("cpu:znver4,threads=2");
  const Target c = *ParseTarget("cpu:haswell");
  EXPECT_EQ(a.CodeHash(), b.CodeHash());
  EXPECT_NE(a.CodeHash(), c.CodeHash());
}

TEST(Target, MeasuresThisMachineOnceAndRemembers) {
  const ScratchFolder scratch;
  const std::string folder = scratch.In("cache");
  const char* before = std::getenv("SMELT_CACHE");
  const std::string saved = before == nullptr ? "" : before;
  setenv("SMELT_CACHE", folder.c_str(), 1);
  const Target first = DetectTarget();
  EXPECT_GT(first.peak_flops_f32, 1e8);
  EXPECT_LE(first.vector_flops_f32, first.peak_flops_f32);
  EXPECT_GT(first.vector_flops_f32, first.peak_flops_f32 / 5);  // no CPU begins five of them a cycle
  EXPECT_GT(first.levels.back().bytes_per_second, 1e7);
  EXPECT_GT(first.launch_seconds, 0);
  const Target second = DetectTarget();
  EXPECT_EQ(second.peak_flops_f32, first.peak_flops_f32);
  EXPECT_EQ(second.levels.back().bytes_per_second, first.levels.back().bytes_per_second);
  // A torn file is measured again, not believed.
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename().string().starts_with(".")) continue;
    ++files;
    std::ofstream(entry.path()) << "smelt target 3\npeak_flops_f32 1\n";
  }
  EXPECT_EQ(files, 1);
  EXPECT_GT(DetectTarget().peak_flops_f32, 1e8);
  if (before == nullptr) {
    unsetenv("SMELT_CACHE");
  } else {
    setenv("SMELT_CACHE", saved.c_str(), 1);
  }
}

}  // namespace
}  // namespace smelt::cpu

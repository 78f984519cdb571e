#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Run, TellsThatTheTextLeavesConstantsOut) {
  const auto folder = FreshFolder("elided");
  const std::string path = (folder / "m.hlo").string();
  WriteFile(path,
            "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  c = f32[4] constant({...})\n  ROOT r = f32[4] add(x, "
            "c)\n}\n");
  const ToolResult result = RunTool({"run", path});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("the values of 1 constant out"));
  WriteFile(path,
            "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  c = f32[4] constant({1, 2, 3, 4})\n  ROOT r = f32[4] "
            "add(x, c)\n}\n");
  EXPECT_THAT(RunTool({"run", path}).err, IsEmpty());
}

// A fusion reads them in another order than the text has.
TEST(Run, ComputesWithTheSameStandInsUnderEveryFusion) {
  const std::string path = (FreshFolder("stand_ins") / "m.hlo").string();
  WriteFile(path,
            "HloModule m\nENTRY e {\n  x = u32[64] parameter(0)\n  c = u32[32] constant({...})\n"
            "  d = u32[64] constant({...})\n  z = u32[] constant(0)\n  p = u32[64] pad(c, z), padding=0_32\n"
            "  y = u32[64] multiply(x, p)\n  ROOT r = u32[64] multiply(y, d)\n}\n");
  for (const char* fusion : {"none", "priority"}) {
    const ToolResult result = RunTool({"run", path, "--check", std::string("--fusion=") + fusion});
    EXPECT_EQ(result.exit_code, 0) << fusion << ": " << result.out << result.err;
  }
}

TEST(Run, TellsHowManyResultsAreNoNumbers) {
  const auto folder = FreshFolder("nan");
  const std::string path = (folder / "m.hlo").string();
  WriteFile(path,
            "HloModule m\nENTRY e {\n  n = f32[3] constant({nan, nan, nan})\n  s = f32[3] constant({nan, 2, 4})\n"
            "  ROOT r = (f32[3], f32[3]) tuple(n, s)\n}\n");
  const ToolResult result = RunTool({"run", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("out.0 f32[3]"));
  EXPECT_THAT(result.out, HasSubstr(" all NaN\n"));
  EXPECT_THAT(result.out, HasSubstr(" 1 of 3 NaN, the others min=2 max=4 mean=3\n"));
}

// Variances from -1 to 1 have square roots that are no numbers, and equal ones of these say nothing.
TEST(Run, ChecksUnderInputsThatGiveFiniteResults) {
  const auto folder = FreshFolder("finite");
  const std::string path = (folder / "m.hlo").string();
  WriteFile(
      path,
      "HloModule m\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
      "ENTRY e {\n  v = f32[64] parameter(0)\n  z = f32[] constant(0)\n  s = f32[64] sqrt(v)\n  ROOT r = f32[] "
      "reduce(s, z), dimensions={0}, to_apply=sum\n}\n");
  EXPECT_THAT(RunTool({"run", path}).out, HasSubstr("NaN"));
  const ToolResult result = RunTool({"run", path, "--check"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("out.0 error="));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(Run, WhatNothingCanRunHasAnExitStatusOfItsOwn) {
  const auto folder = FreshFolder("unsupported");
  const std::string path = (folder / "m.hlo").string();
  WriteFile(path,
            "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] custom-call(x), "
            "custom_call_target=\"Unheard\"\n}\n");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run", path},
           {"run", path, "--engine=evaluator"},
           {"bench", path},
           {"tune", path, "--model=analytical", "--budget=5", "--out=" + (folder / "run").string()}}) {
    const ToolResult result = RunTool(words);
    EXPECT_EQ(result.exit_code, 3) << words[0];
    EXPECT_THAT(result.err, HasSubstr("Unheard")) << words[0];
  }
}

TEST(Run, InterruptedItEndsWithTheSignalsStatus) {
  const auto folder = FreshFolder("interrupted");
  const std::string path = (folder / "m.hlo").string();
  WriteFile(path,
            "HloModule m\nalways { p = s32[] parameter(0)\n  ROOT r = pred[] constant(true) }\n"
            "body { p = s32[] parameter(0)\n  one = s32[] constant(1)\n  ROOT r = s32[] add(p, one) }\n"
            "ENTRY e { p = s32[] parameter(0)\n  ROOT w = s32[] while(p), condition=always, body=body }\n");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", path, "--engine=evaluator"}, {"bench", path, "--json"}}) {
    for (const auto& [signal, status] : {std::pair(SIGINT, 130), {SIGTERM, 143}, {SIGHUP, 143}}) {
      Tool tool = Tool::Start(words);
      while (tool.Running() && !tool.Listens(signal)) ::usleep(2000);
      tool.Signal(signal);
      const ToolResult result = tool.Wait();
      EXPECT_EQ(result.exit_code, status) << words[0];
      EXPECT_THAT(result.err, HasSubstr(signal == SIGINT ? "interrupted by SIGINT" : "interrupted by SIGTERM"));
    }
  }
}

}  // namespace
}  // namespace smelt::cli

// `smelt fuzz` and `smelt reduce` as a user starts them.
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

constexpr char kModule[] = R"(HloModule m
ENTRY e {
  x = f32[16,8] parameter(0)
  y = f32[16,8] parameter(1)
  a = f32[16,8] add(x, y)
  t = f32[16,8] tanh(a)
  n = f32[16,8] negate(t)
  ROOT r = (f32[16,8], f32[16,8]) tuple(n, a)
}
)";

TEST(Fuzz, ReportsACleanRunAndItsSeed) {
  const ToolResult result = RunTool({"fuzz", "--modules=2", "--seed=3", "--configs=2", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.json()["seed"], 3);
  EXPECT_EQ(result.json()["modules"], 2);
  EXPECT_TRUE(result.json()["findings"].empty());
  EXPECT_EQ(result.err, "");
}

TEST(Fuzz, ModuleThatTakesTooLongIsAFindingAndTheStatusSaysSo) {
  const ToolResult result =
      RunTool({"fuzz", "--modules=1", "--seed=3", "--time-limit=0.0001", "--minimise=0", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 1) << result.err;
  ASSERT_EQ(result.json()["findings"].size(), 1u);
  EXPECT_EQ(result.json()["findings"][0]["kind"], "hang");
}

TEST(Fuzz, RefusesNonsenseFlags) {
  EXPECT_EQ(RunTool({"fuzz", "--modules=-1"}).exit_code, 2);
  EXPECT_EQ(RunTool({"fuzz", "--configs=0"}).exit_code, 2);
}

TEST(Fuzz, AFolderThatCannotBeWrittenIsAnErrorAndNoFinding) {
  const auto folder = FreshFolder("fuzz-full");
  const ToolResult result =
      RunTool({"fuzz", "--modules=2", "--seed=3", "--expect", "--quiet", "--out=" + (folder / "out").string()},
              {.file_size_limit = 600});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out.find("findings"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("cannot be written: File too large"), std::string::npos) << result.err;
}

TEST(Fuzz, AChildThatSomebodyKilledIsStartedAgain) {
  Tool tool = Tool::Start({"fuzz", "--modules=40", "--seed=3", "--configs=2", "--json", "--quiet"});
  for (int kills = 0; kills < 3 && tool.Running();) {
    const std::vector<pid_t> children = ChildrenOf(tool.pid());
    for (pid_t child : children) kills += ::kill(child, SIGKILL) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  const ToolResult result = tool.Wait();
  // Killed twice, a module ends the campaign with an error; it is never a finding.
  if (result.exit_code == 0) {
    EXPECT_TRUE(result.json()["findings"].empty()) << result.out;
  } else {
    EXPECT_NE(result.err.find("was killed by another process"), std::string::npos) << result.err;
  }
}

TEST(Fuzz, InterruptEndsItWithAReport) {
  Tool tool = Tool::Start({"fuzz", "--modules=1000000", "--configs=1", "--json"});
  while (tool.Running() && tool.Error().find(" of 1000000 modules") == std::string::npos) ::usleep(10000);
  tool.Signal(SIGINT);
  const ToolResult result = tool.Wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(result.json()["interrupted"], true);
  EXPECT_NE(result.err.find("interrupted by SIGINT"), std::string::npos) << result.err;
}

TEST(Reduce, KeepsWhatTheCommandFailsOn) {
  const auto folder = FreshFolder("reduce");
  WriteFile(folder / "m.hlo", kModule);
  const std::string out = (folder / "small.hlo").string();
  const ToolResult result =
      RunTool({"reduce", (folder / "m.hlo").string(), "-o", out, "--", "sh", "-c", "! grep -q tanh $0", "{}"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string small = ReadFile(out);
  EXPECT_NE(small.find("tanh"), std::string::npos) << small;
  EXPECT_EQ(small.find("negate"), std::string::npos) << small;
  EXPECT_EQ(small.find(" add("), std::string::npos) << small;
  EXPECT_EQ(RunTool({"inspect", out}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(out + ".candidate.hlo"));
}

TEST(Reduce, KeepsTheStatusThatItStartedWith) {
  const auto folder = FreshFolder("reduce_status");
  WriteFile(folder / "m.hlo", kModule);
  const std::string out = (folder / "small.hlo").string();
  // 3 with tanh, 4 without: the second is another failure.
  const std::string script = "grep -q tanh $0 && exit 3; exit 4";
  ASSERT_EQ(RunTool({"reduce", (folder / "m.hlo").string(), "-o", out, "--", "sh", "-c", script, "{}"}).exit_code, 0);
  EXPECT_NE(ReadFile(out).find("tanh"), std::string::npos);
  ASSERT_EQ(RunTool({"reduce", (folder / "m.hlo").string(), "-o", out, "--exit=any", "--", "sh", "-c", script, "{}"})
                .exit_code,
            0);
  EXPECT_EQ(ReadFile(out).find("tanh"), std::string::npos);
}

TEST(Reduce, InterruptedItKeepsTheSmallestSoFar) {
  const auto folder = FreshFolder("reduce_interrupted");
  WriteFile(folder / "m.hlo", kModule);
  const std::string out = (folder / "small.hlo").string();
  Tool tool =
      Tool::Start({"reduce", (folder / "m.hlo").string(), "-o", out, "--", "sh", "-c", "sleep 1; exit 3", "{}"});
  while (tool.Running() && !std::filesystem::exists(out)) ::usleep(10000);
  tool.Signal(SIGTERM);
  const ToolResult result = tool.Wait();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_NE(result.err.find("interrupted by SIGTERM: " + out + " is the smallest so far"), std::string::npos)
      << result.err;
  EXPECT_EQ(RunTool({"inspect", out}).exit_code, 0);
}

TEST(Reduce, SaysWhyThereIsNothingToDo) {
  const auto folder = FreshFolder("reduce_nothing");
  WriteFile(folder / "m.hlo", kModule);
  const std::string module = (folder / "m.hlo").string(), out = (folder / "small.hlo").string();
  const ToolResult fine = RunTool({"reduce", module, "-o", out, "--", "true"});
  EXPECT_EQ(fine.exit_code, 1);
  EXPECT_NE(fine.err.find("status 0"), std::string::npos) << fine.err;
  EXPECT_EQ(RunTool({"reduce", module, "-o", out, "--", "no-such-command-anywhere"}).exit_code, 1);
  EXPECT_EQ(RunTool({"reduce", module, "-o", out}).exit_code, 2);
}

}  // namespace
}  // namespace smelt::cli

// What is wrong with a command line is told, and the status is 2.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;

struct WrongLine {
  std::vector<std::string> words;
  std::string message;
};

TEST(Verbs, WrongCommandLinesNameTheWordThatIsWrongInOneLine) {
  const WrongLine lines[] = {
      {{"tuen", "m.hlo"}, "smelt: no verb `tuen`; did you mean `tune`? `smelt help` lists them"},
      {{"help", "tuen"}, "smelt: no verb `tuen`; did you mean `tune`?"},
      {{"frobnicate"}, "smelt: no verb `frobnicate`; `smelt help` lists them"},
      {{"--nonsense"}, "smelt: no flag `--nonsense`"},
      {{"tune"}, "smelt tune: MODULE is required"},
      {{"tune", "m.hlo"}, "is required"},
      {{"tune", "m.hlo", "--outt=run"},
       "smelt tune: no flag `--outt`; did you mean `--out`?"},  // and so --out is missing
      {{"run", "m.hlo", "--chekc"}, "smelt run: no flag `--chekc`; did you mean `--check`? `smelt run --help` lists"},
      {{"train", "corpus", "--epoch=3"}, "smelt train: no flag `--epoch`; did you mean `--epochs`?"},
      {{"tune", "--nonsense"}, "smelt tune: no flag `--nonsense`; `smelt tune --help` lists them"},
      {{"run", "m.hlo", "n.hlo"}, "smelt run: `n.hlo` is one word too many"},
      {{"tune", "m.hlo", "--out"}, "1 required"},
      {{"opt"}, "MODULE is required, or --list-passes"},
      {{"fuzz", "--modules=-3"}, "--modules: -3 is not 0 or more"},
      {{"tune", "m.hlo", "--out=run", "--budget=0"}, "--budget: 0 is not above 0"},
      {{"tune", "m.hlo", "--out=run", "--budget=ten"}, "--budget: `ten` is no finite number"},
  };
  for (const WrongLine& line : lines) {
    const ToolResult result = RunTool(line.words);
    EXPECT_EQ(result.exit_code, 2) << line.message;
    EXPECT_THAT(result.err, HasSubstr(line.message));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(Verbs, WithoutOneTheyAreListedByUse) {
  const ToolResult result = RunTool({}), asked = RunTool({"help"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_EQ(result.err, asked.out);
  size_t at = 0;
  for (const char* line : {"Look at a module:\n  inspect ", "Tune it:\n  tune ", "Run and measure:\n  run ",
                           "Learn from measurements:\n  train ", "Check compiled code:\n  fuzz "}) {
    const size_t next = asked.out.find(line, at);
    EXPECT_NE(next, std::string::npos) << line << asked.out;
    at = next;
  }
  EXPECT_EQ(asked.out.find("measure-worker"), std::string::npos);
}

TEST(Verbs, HelpOfOneIsItsFlagsAndAnExample) {
  for (const char* verb : {"tune", "train"}) {
    const ToolResult result = RunTool({"help", verb});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, RunTool({verb, "--help"}).out);
    EXPECT_THAT(result.out, HasSubstr("--seed"));
    EXPECT_THAT(result.out, HasSubstr(std::string("Example:\n  smelt ") + verb));
  }
}

TEST(Verbs, TheVersionNamesCompilerAndTarget) {
  const ToolResult result = RunTool({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, RunTool({"-V"}).out);
  EXPECT_THAT(result.out, ::testing::MatchesRegex("smelt [0-9.]+\ncompiler LLVM [0-9.]+ smelt [0-9a-f]+\n"
                                                  "target cpu:[^\n]+,threads=[0-9]+\n"));
}

}  // namespace
}  // namespace smelt::cli

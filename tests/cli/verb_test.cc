// What is wrong with a command line is told, and the status is 2.
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

TEST(Verbs, WrongCommandLinesNameTheWordThatIsWrong) {
  const WrongLine lines[] = {
      {{}, "A subcommand is required"},
      {{"tunes"}, "not expected: tunes"},
      {{"tune"}, "MODULE is required"},
      {{"tune", "m.hlo"}, "--out is required"},
      {{"tune", "m.hlo", "--outt=run"}, "not expected: --outt=run"},  // and so --out is missing
      {{"tune", "--nonsense"}, "not expected: --nonsense"},
      {{"tune", "m.hlo", "--out"}, "--out: 1 required"},
      {{"inspect", "m.hlo", "--nonsense"}, "not expected: --nonsense"},
      {{"fuzz", "--modules=-3"}, "--modules: -3 is not 0 or more"},
      {{"tune", "m.hlo", "--out=run", "--budget=0"}, "--budget: 0 is not above 0"},
      {{"tune", "m.hlo", "--out=run", "--budget=ten"}, "--budget: `ten` is no number"},
  };
  for (const WrongLine& line : lines) {
    const ToolResult result = RunTool(line.words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(line.message));
  }
}

}  // namespace
}  // namespace smelt::cli

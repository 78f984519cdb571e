// Results that nobody gets are an error, and names that are not UTF-8 are none, for every verb.
#include <set>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/every_verb.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Output, TheLinesAreOfEveryVerb) {
  const auto folder = FreshFolder("lines");
  std::set<std::string> verbs;
  for (const std::vector<std::string>& line : LineOfEachVerb(folder, folder / "run")) verbs.insert(line[0]);
  for (const std::string& verb : Verbs()) {
    // The cache's verb works on a folder alone.
    EXPECT_TRUE(verb == "cache" || verbs.contains(verb)) << verb;
  }
}

TEST(Output, ThatCannotBeWrittenIsAnErrorOfEveryVerb) {
  const auto folder = FreshFolder("unwritable");
  std::vector<std::vector<std::string>> lines = LineOfEachVerb(folder, folder / "run");
  for (const char* words : {"help", "--version"}) lines.push_back({words});
  for (const std::vector<std::string>& line : lines) {
    for (const ToolOptions& options : {ToolOptions{.out = "/dev/full"}, ToolOptions{.closed = true}}) {
      const ToolResult result = RunTool(line, options);
      EXPECT_EQ(result.exit_code, 1) << absl::StrJoin(line, " ") << "\n" << result.err;
      EXPECT_THAT(result.err, HasSubstr("standard output cannot be written")) << absl::StrJoin(line, " ");
    }
  }
}

TEST(Output, NamesThatAreNotUtf8EndNoVerb) {
  const auto folder = FreshFolder("odd\xff");
  for (const std::vector<std::string>& line : LineOfEachVerb(folder, FreshFolder("even"))) {
    const ToolResult result = RunTool(line);
    EXPECT_EQ(result.exit_code, 0) << absl::StrJoin(line, " ") << "\n" << result.err;
    EXPECT_EQ(result.err.find_first_of("\r\033"), std::string::npos) << line[0];  // a file is no terminal
    if (line.back() == "--json") {
      EXPECT_FALSE(result.json().is_discarded()) << result.out;
    }
  }
  const ToolResult refused = RunTool({"tune", (folder / "small.hlo").string(), "--out=" + (folder / "run").string()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("is not UTF-8"));
}

// A name that no file system takes, in place of each word or value.
TEST(Output, NamesThatAreTooLongAreAnErrorOfEveryVerb) {
  const auto folder = FreshFolder("long");
  const std::string name(300, 'a');
  for (const std::vector<std::string>& line : LineOfEachVerb(folder, folder / "run")) {
    ASSERT_EQ(RunTool(line).exit_code, 0) << absl::StrJoin(line, " ");  // what it writes, a later one reads
    for (size_t i = 1; i < line.size() && line[i] != "--"; ++i) {
      std::vector<std::string> words = line;
      const size_t value = words[i].find('=');
      if (words[i][0] == '-' && value == std::string::npos) continue;
      words[i] = words[i][0] == '-' ? words[i].substr(0, value + 1) + name : name;
      const ToolResult result = RunTool(words);
      EXPECT_EQ(result.signal, 0) << absl::StrJoin(words, " ");
      // A corpus of other programs is well without this one, which a line says.
      EXPECT_THAT(result.exit_code, AnyOf(words[0] == "profile" ? 0 : 1, 1, 2)) << absl::StrJoin(words, " ");
      EXPECT_THAT(result.err, AllOf(Not(""), Not(HasSubstr("of its own")))) << absl::StrJoin(words, " ");
    }
  }
}

TEST(Output, ClosedStandardFilesTakeNoOtherFilesPlace) {
  const auto folder = FreshFolder("closed");
  WriteFile(folder / "small.hlo", SmallProgram());
  const std::string out = (folder / "outputs").string();
  const ToolResult result = RunTool({"run", (folder / "small.hlo").string(), "--outputs=" + out}, {.closed = true});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(RunTool({"run", (folder / "small.hlo").string(), "--inputs=" + out}).exit_code, 1);
  EXPECT_EQ(ReadFile(out).find("out.0 f32"), std::string::npos);  // what was printed is not among the results
}

}  // namespace
}  // namespace smelt::cli

// Numbers that are none, or out of range, are refused by every flag that takes one.
#include <algorithm>
#include <iterator>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/every_verb.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Flags of a verb that take a number, by its help.
std::vector<std::string> NumberFlags(const std::string& verb) {
  std::vector<std::string> flags;
  std::istringstream help(RunTool({"help", verb}).out);
  for (std::string line; std::getline(help, line);) {
    std::istringstream words(line);
    std::string names, type;
    words >> names >> type;
    if (!names.starts_with("-")) continue;
    for (const char* number : {"INT", "UINT", "FLOAT"}) {
      if (type.starts_with(number)) flags.push_back(names.substr(names.rfind(',') + 1));
    }
  }
  return flags;
}

constexpr const char* kValues[] = {"nan", "inf", "-1", "1e400", "99999999999999999999", "ten", ""};

TEST(NumberFlags, RefuseWhatIsNoNumberOfTheirs) {
  size_t tried = 0, number = 0;
  for (const std::string& verb : Verbs()) {
    for (const std::string& flag : NumberFlags(verb)) {
      ++number;
      for (size_t i = 0; i < std::size(kValues); ++i) {
        // Each start of LibTorch takes long: there each flag gets one of the values.
        if (verb == "train" && i != number % std::size(kValues)) continue;
        const std::string value = kValues[i];
        const ToolResult result = RunTool({verb, flag + "=" + value});
        ++tried;
        EXPECT_EQ(result.exit_code, 2) << verb << " " << flag << "=" << value;
        EXPECT_THAT(result.err, HasSubstr("smelt " + verb + ": " + flag + ": ")) << value;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      }
    }
  }
  EXPECT_GT(tried, 250u);
}

TEST(NumberFlags, RefuseNumbersInWordsToo) {
  const auto folder = FreshFolder("words");
  WriteFile(folder / "m.hlo", SmallProgram());
  const std::string module = (folder / "m.hlo").string();
  const std::vector<std::string> lines[] = {
      {"run", module, "--target=cpu:threads=nan"},
      {"run", module, "--target=cpu:threads=-1"},
      {"run", module, "--target=cpu:threads=99999999999999999999"},
      {"run", module, "--target=xla:threads=0"},
      {"profile", module, "-o", (folder / "corpus").string(), "--shard=-1/4"},
      {"profile", module, "-o", (folder / "corpus").string(), "--shard=4/4"},
      {"run", module, "--memory-limit=-1"},
      {"run", module, "--memory-limit=99999999999T"},
      {"reduce", module, "-o", "o", "--exit=nan", "--", "false"},
  };
  for (const std::vector<std::string>& line : lines) {
    const ToolResult result = RunTool(line);
    EXPECT_EQ(result.exit_code, 2) << line[2];
    EXPECT_THAT(result.err, Not(IsEmpty())) << line[2];
  }
}

TEST(NumberFlags, AreDecimal) {
  EXPECT_EQ(RunTool({"fuzz", "--modules=010", "--seed=1", "--configs=1", "--json", "--quiet"}).json()["modules"], 10);
}

TEST(NumberFlags, MoreThreadsThanCoresIsAWarning) {
  const auto folder = FreshFolder("threads");
  WriteFile(folder / "m.hlo", SmallProgram());
  const std::string module = (folder / "m.hlo").string();
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"bench", module, "--seconds=0.01", "--repeat=1", "--threads=999"},
                                             {"run", module, "--target=cpu:threads=999"}}) {
    const ToolResult result = RunTool(line);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("999 threads on "));
  }
  EXPECT_THAT(RunTool({"run", module, "--target=cpu:threads=1"}).err, IsEmpty());
}

}  // namespace
}  // namespace smelt::cli

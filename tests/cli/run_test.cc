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

}  // namespace
}  // namespace smelt::cli

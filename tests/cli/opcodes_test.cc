#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

TEST(Opcodes, DocumentIsWhatTheToolPrints) {
  const ToolResult result = RunTool({"opcodes"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ReadFile(std::string(SMELT_SOURCE_DIR) + "/docs/hlo-support.md"), result.out)
      << "make it again: smelt opcodes > docs/hlo-support.md";
}

}  // namespace
}  // namespace smelt::cli

// `smelt sim` from outside.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kProducts = SMELT_SOURCE_DIR "/models/products.vdla";

class SimTest : public ::testing::Test {
 protected:
  SimTest() : folder_(FreshFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~SimTest() override { fs::remove_all(folder_); }
  std::string In(const std::string& name) const { return (folder_ / name).string(); }
  // A program of these lines, run; the whole of standard error.
  ToolResult Run(const std::string& lines) {
    WriteFile(folder_ / "program.vdla", ".vdla 1\n.machine pynq\n" + lines);
    return RunTool({"sim", In("program.vdla")});
  }

  fs::path folder_;
};

TEST_F(SimTest, PrintsWhatEachUnitDidAndWritesTraceAndRoofline) {
  const ToolResult result = RunTool(
      {"sim", kProducts, "--trace=" + In("trace.json"), "--roofline=" + In("roofline.svg"), "--dram=" + In("dram")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("products on pynq: "));
  EXPECT_THAT(result.out, HasSubstr("compute             7"));
  EXPECT_TRUE(nlohmann::json::parse(ReadFile(folder_ / "trace.json"))["traceEvents"].is_array());
  EXPECT_THAT(ReadFile(folder_ / "roofline.svg"), HasSubstr("<svg"));
  EXPECT_EQ(fs::file_size(folder_ / "dram.y"), 128u);
}

TEST_F(SimTest, TheBinaryFormRunsAsTheTextDoes) {
  ASSERT_EQ(RunTool({"sim", kProducts, "--out=" + In("binary.vdla"), "--text"}).exit_code, 0);
  EXPECT_TRUE(ReadFile(folder_ / "binary.vdla").starts_with("VDLAPROG"));
  const nlohmann::json text = RunTool({"sim", kProducts, "--json"}).json(),
                       binary = RunTool({"sim", In("binary.vdla"), "--json"}).json();
  EXPECT_EQ(text, binary);
  EXPECT_EQ(text[0]["ok"], true);
  EXPECT_EQ(RunTool({"sim", In("binary.vdla"), "--text"}).out, RunTool({"sim", kProducts, "--text"}).out);
  EXPECT_EQ(RunTool({"sim", kProducts, "--functional", "--json"}).json()[0]["cycles"], 0);
}

TEST_F(SimTest, TakesAnotherMachineOfTheSameBlocks) {
  std::string slow = ReadFile(fs::path(SMELT_SOURCE_DIR) / "vdla/configs/pynq.json");
  slow.replace(slow.find("7.9"), 3, "1");
  WriteFile(folder_ / "slow.json", slow);
  const int64_t usual = RunTool({"sim", kProducts, "--json"}).json()[0]["cycles"];
  EXPECT_GT(
      RunTool({"sim", kProducts, "--target=vdla:" + In("slow.json"), "--json"}).json()[0]["cycles"].get<int64_t>(),
      usual);
  EXPECT_EQ(RunTool({"sim", kProducts, "--target=vdla:pynq", "--json"}).json()[0]["cycles"], usual);
  const ToolResult big = RunTool({"sim", kProducts, "--target=vdla:big"});
  EXPECT_EQ(big.exit_code, 1);
  EXPECT_THAT(big.err, HasSubstr("was made for blocks of 1 x 16 x 16, and big has 1 x 32 x 32"));
  EXPECT_EQ(RunTool({"sim", kProducts, "--target=cpu"}).exit_code, 2);
  EXPECT_THAT(RunTool({"sim", kProducts, "--target=vdla:zynq"}).err,
              HasSubstr("`zynq` is no machine that is built in (pynq, big), and no file"));
}

TEST_F(SimTest, SaysWhatIsWrongInOneLine) {
  EXPECT_THAT(Run("GEMM reset pop_prev\nFINISH\n").err, HasSubstr("deadlock after"));
  EXPECT_THAT(Run("LOAD INP push_next\nFINISH\n").err, HasSubstr("tokens are left at the end: 1 in load->compute"));
  EXPECT_THAT(Run("LOAD INP sram_base=2048 y_size=1 x_size=1\nFINISH\n").err,
              HasSubstr("instruction 0 (LOAD INP): row 0 writes elements 2048"));
  EXPECT_THAT(Run("LOAD INP y_size=1 x_size=1 dram_base=0\nSTORE ACC y_size=1 x_size=1\nFINISH\n").err,
              HasSubstr("race: "));
  EXPECT_THAT(Run("JUMP\n").err, HasSubstr("program.vdla:3: `JUMP` is no instruction"));
  for (const char* lines : {"GEMM reset pop_prev\nFINISH\n", "LOAD INP push_next\nFINISH\n", "JUMP\n"})
    EXPECT_EQ(Run(lines).exit_code, 1) << lines;
  EXPECT_THAT(RunTool({"sim", kProducts, "--max-cycles=100"}).err, HasSubstr("the limit of 100 cycles was reached"));
  EXPECT_THAT(RunTool({"sim", In("none.vdla")}).err, HasSubstr("none.vdla: cannot be read"));
  const std::string binary = In("binary.vdla");
  ASSERT_EQ(RunTool({"sim", kProducts, "--out=" + binary, "--text"}).exit_code, 0);
  fs::resize_file(binary, fs::file_size(binary) - 10);
  EXPECT_THAT(RunTool({"sim", binary}).err, HasSubstr("ends 10 bytes too early"));
}

}  // namespace
}  // namespace smelt::cli

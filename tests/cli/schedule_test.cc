// Schedules as files: what `inspect --schedule` prints, `run`, `bench` and `inspect` take; what is no such file, or one
// of another program, is one line.
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kProduct =
    "HloModule m\nENTRY e {\n  x = f32[24,40] parameter(0)\n  w = f32[40,32] parameter(1)\n"
    "  ROOT p = f32[24,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";

class Schedules : public ::testing::Test {
 protected:
  Schedules() : folder_(FreshFolder("schedules")), module_((folder_ / "m.hlo").string()) {
    WriteFile(module_, kProduct);
  }
  std::string Keep(const char* name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    WriteFile(path, text);
    return path;
  }
  const std::filesystem::path folder_;
  const std::string module_;
};

TEST_F(Schedules, ArePrintedAndTaken) {
  const ToolResult printed = RunTool({"inspect", module_, "--schedule"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out,
              AllOf(StartsWith("smelt schedule 1\nkernel "), HasSubstr("\nvectorize "), HasSubstr("\nend ")));
  EXPECT_EQ(RunTool({"inspect", module_, "--kernel=p", "--schedule"}).out, printed.out);
  const std::string file = Keep("m.schedule", printed.out);
  const ToolResult run = RunTool({"run", module_, "--check", "--schedule=" + file});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(RunTool({"bench", module_, "--repeat=2", "--schedule=" + file}).out, HasSubstr("tile trace "));
  EXPECT_THAT(RunTool({"inspect", module_, "--kernel=p", "--schedule=" + file}).out, HasSubstr("tile trace "));
}

TEST_F(Schedules, OfKnownWeightsAreTheOnesThatRun) {
  const std::string wide =
      Keep("wide.hlo", absl::StrReplaceAll(kProduct, {{"24,", "128,"}, {"40", "512"}, {"32]", "512]"}}));
  const auto inspect = [&](const std::string& flag) {
    return RunTool({"inspect", wide, "--kernel=p", "--schedule", flag}).out;
  };
  EXPECT_THAT(inspect("--fusion=priority"), HasSubstr("\ncache_read p1 thread "));
  const std::string known = inspect("--constant=w");
  EXPECT_THAT(known, HasSubstr("\ncache_read p1 shared "));
  const ToolResult run = RunTool({"run", wide, "--check", "--constant=w", "--schedule=" + Keep("w.schedule", known)});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const ToolResult simulated = RunTool({"inspect", wide, "--constant=w", "--target=vdla"});
  EXPECT_EQ(simulated.exit_code, 2);
  EXPECT_THAT(simulated.err, HasSubstr("--constant and --weights are for --target=cpu"));
}

TEST_F(Schedules, OfConvolutionsNameTheirAlgorithm) {
  const std::string layer = Keep(
      "layer.hlo",
      "HloModule m\nENTRY e {\n  x = f32[1,56,56,64] parameter(0)\n  w = f32[3,3,64,64] parameter(1)\n"
      "  ROOT c = f32[1,56,56,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n}\n");
  const std::string printed = RunTool({"inspect", layer, "--kernel=c", "--tile=winograd2", "--schedule"}).out;
  EXPECT_THAT(printed, HasSubstr("\nalgorithm winograd2\n"));
  const std::string direct = RunTool({"inspect", layer, "--kernel=c", "--tile=direct", "--schedule"}).out;
  EXPECT_THAT(direct, AllOf(StartsWith("smelt schedule 1\nkernel "), Not(HasSubstr("\nalgorithm "))));
  const ToolResult run = RunTool({"run", layer, "--check", "--schedule=" + Keep("layer.schedule", printed)});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const ToolResult wrong = RunTool(
      {"run", layer, "--schedule=" + Keep("x.schedule", absl::StrReplaceAll(printed, {{"winograd2", "strassen"}}))});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("x.schedule:4: "));
}

TEST_F(Schedules, OfAPointOfTheConfigurationSpaceAreTakenToo) {
  const ToolResult wrong = RunTool({"inspect", module_, "--kernel=p", "--tile=i0=0x0x0"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("knob `i0` has no option `0x0x0`"));
}

TEST_F(Schedules, WordsThatWouldBeLeftAsideAreRefused) {
  const auto refusal = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"inspect", module_});
    const ToolResult result = RunTool(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(refusal({"--tile=8x16"}), HasSubstr("--tile=8x16 is of one kernel; name it with --kernel"));
  EXPECT_THAT(refusal({"--schedule=f.schedule"}), HasSubstr("name it with --kernel"));
  EXPECT_THAT(refusal({"--kernel=p", "--tile=8x16", "--schedule=f.schedule"}), HasSubstr("give one"));
  EXPECT_THAT(refusal({"--why=p", "--kernel=p"}), HasSubstr("--why"));
  EXPECT_THAT(refusal({"--why=p", "--schedule"}), HasSubstr("--why"));
  for (const char* of_fused : {"--kernel=p", "--kernels", "--fusion=priority", "--constant=0", "--weights=w"}) {
    EXPECT_THAT(refusal({"--no-verify", of_fused}), HasSubstr("--no-verify")) << of_fused;
  }
}

TEST_F(Schedules, ErrorsAreOneLineThatSaysWhat) {
  const std::string good = RunTool({"inspect", module_, "--schedule"}).out;
  const auto error = [&](const std::string& text, int exit_code = 1) {
    const ToolResult result = RunTool({"run", module_, "--schedule=" + Keep("x.schedule", text)});
    EXPECT_EQ(result.exit_code, exit_code) << text;
    return result.err;
  };
  EXPECT_THAT(error("HloModule m\n"), HasSubstr("x.schedule:1: is no file of schedules"));
  EXPECT_THAT(error(absl::StrReplaceAll(good, {{"schedule 1", "schedule 9"}})), HasSubstr("has version 9"));
  EXPECT_THAT(error(good.substr(0, good.size() - 30)), HasSubstr("torn"));
  const std::string hash = good.substr(good.find("kernel ") + 7, 32);
  EXPECT_THAT(error(absl::StrReplaceAll(good, {{hash, std::string(32, '0')}})),
              HasSubstr("is none of the 1 kernels of this program"));
  EXPECT_THAT(error("smelt schedule 1\nkernel " + hash + "\nsplit p i9 8 guard\nend any\n", 3),
              HasSubstr("no stage `p`"));
}

}  // namespace
}  // namespace smelt::cli

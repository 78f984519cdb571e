// --constant and --weights of run, bench and tune.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/file/read.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kNetwork[] = R"(HloModule network
ENTRY main { x = f32[2,8,8,16] parameter(0)
  w = f32[3,3,16,32] parameter(1)
  scale = f32[32] parameter(2)
  mean = f32[32] parameter(3)
  c = f32[2,8,8,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  mb = f32[2,8,8,32] broadcast(mean), dimensions={3}
  d = f32[2,8,8,32] subtract(c, mb)
  sb = f32[2,8,8,32] broadcast(scale), dimensions={3}
  e = f32[2,8,8,32] multiply(d, sb)
  zero = f32[] constant(0)
  zeros = f32[2,8,8,32] broadcast(zero), dimensions={}
  ROOT r = f32[2,8,8,32] maximum(e, zeros) })";

class Known : public ::testing::Test {
 protected:
  Known() : folder_(FreshFolder("known")), program_((folder_ / "m.hlo").string()) { WriteFile(program_, kNetwork); }
  std::string Path(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  std::string program_;
};

TEST_F(Known, ResultsAgreeWithTheEvaluators) {
  for (const std::string flag : {"--constant=w,scale,mean", "--constant=all-but:x", "--constant=1", "--constant=2,3"}) {
    const ToolResult result = RunTool({"run", program_, flag, "--check", "--threads=2"});
    EXPECT_EQ(result.exit_code, 0) << flag << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr(" ok\n")) << flag;
  }
}

TEST_F(Known, WeightsComeFromAFile) {
  const std::unique_ptr<hlo::Module> module = hlo::ReadModuleFile(program_).value();
  const std::vector<hlo::Literal> inputs = hlo::MakeInputs(*module).value();
  hlo::SafetensorsFile file;
  for (const auto& [name, number] : {std::pair("w", 1), {"scale", 2}, {"in.3", 3}})
    file.tensors.push_back({name, inputs[number]});
  ASSERT_TRUE(hlo::WriteSafetensors(Path("weights.safetensors"), file).ok());
  const std::string weights = "--weights=" + Path("weights.safetensors");
  const ToolResult result = RunTool({"run", program_, weights, "--check"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  // The same values as without: generated inputs are those of the file.
  EXPECT_EQ(RunTool({"run", program_, weights}).out, RunTool({"run", program_, "--constant=all-but:x"}).out);

  const std::string whole = ReadFile(Path("weights.safetensors"));
  WriteFile(Path("weights.safetensors"), whole.substr(0, whole.size() - 1));
  EXPECT_THAT(RunTool({"run", program_, weights}).err, HasSubstr("not a complete safetensors file"));
  file.tensors[0].literal = inputs[2];
  ASSERT_TRUE(hlo::WriteSafetensors(Path("weights.safetensors"), file).ok());
  EXPECT_THAT(RunTool({"run", program_, weights}).err,
              HasSubstr("tensor `w` for parameter `w`: expected f32[3,3,16,32]"));
  file.tensors[0].name = "other";
  ASSERT_TRUE(hlo::WriteSafetensors(Path("weights.safetensors"), file).ok());
  EXPECT_THAT(RunTool({"run", program_, weights}).err, HasSubstr("tensor `other` fits no parameter"));
}

TEST_F(Known, FewerKernelsRunWhereTheScaleIsPartOfTheWeights) {
  const ToolResult usual = RunTool({"bench", program_, "--repeat=3", "--fusion=none", "--json"});
  const ToolResult known =
      RunTool({"bench", program_, "--repeat=3", "--fusion=none", "--json", "--constant=all-but:x"});
  ASSERT_EQ(usual.exit_code + known.exit_code, 0) << usual.err << known.err;
  EXPECT_LT(known.json()["kernels"].size(), usual.json()["kernels"].size());
}

TEST_F(Known, TuningAnswersForTheProgramWithoutItsWeights) {
  const ToolResult tuned = RunTool({"tune", program_, "--constant=all-but:x", "--out", Path("run"), "--budget=8",
                                    "--no-tiles", "--quiet", "--json"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_TRUE(tuned.json()["verified"].get<bool>());
  const std::string fusion = "--fusion=" + Path("run/best.fusion.json");
  const ToolResult run = RunTool({"run", program_, "--constant=all-but:x", fusion, "--check"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(RunTool({"build", program_, fusion, "-o", Path("m")}).exit_code, 1) << "for another program";
}

TEST_F(Known, WordsThatFitNothingAreRefused) {
  const ToolResult unknown = RunTool({"run", program_, "--constant=weights"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("has no parameter `weights`"));
  EXPECT_EQ(RunTool({"run", program_, "--constant=w", "--target=xla"}).exit_code, 2);
  EXPECT_EQ(RunTool({"run", program_, "--constant=w", "--engine=evaluator"}).exit_code, 2);
  EXPECT_EQ(RunTool({"bench", program_, "--constant=w", "--fusion=given"}).exit_code, 2);
  EXPECT_EQ(RunTool({"tune", program_, "--constant=w", "--target=xla", "--out", Path("run")}).exit_code, 2);
}

}  // namespace
}  // namespace smelt::cli

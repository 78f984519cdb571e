#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/golden/safetensors.h"
#include "tests/cli/tool.h"

namespace smelt::cli {
namespace {

using ::testing::HasSubstr;

const char* const kNetwork = R"(HloModule network
ENTRY e {
  x = f32[4,16] parameter(0)
  params_w0 = f32[16,32] parameter(1)
  params_w1 = f32[32,10] parameter(2)
  zero = f32[] constant(0)
  zeros = f32[4,32] broadcast(zero), dimensions={}
  d = f32[4,32] dot(x, params_w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[4,32] maximum(d, zeros)
  ROOT y = f32[4,10] dot(r, params_w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

TEST(Quantize, WritesAProgramThatRunsOnTheSameInputs) {
  const auto folder = FreshFolder("quantize");
  const std::string module = (folder / "m.hlo").string(), output = (folder / "q.hlo").string();
  WriteFile(module, kNetwork);
  const ToolResult result = RunTool({"quantize", module, "--inputs=3", "-o", output, "--partition", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 of 3 parameters are weights (random numbers, told by their names)"));
  const nlohmann::json report = result.json();
  EXPECT_EQ(report["int8_contractions"], 2);
  EXPECT_EQ(report["inputs"], 3);
  ASSERT_GT(report["partition"].size(), 2u) << "quantise, the dots, back to floats";
  double flops = 0;
  for (const auto& kernel : report["partition"]) {
    EXPECT_EQ(kernel["accelerator"], kernel["why"] == "") << kernel;
    EXPECT_GT(kernel["seconds"], 0);
    flops += kernel["flops"].get<double>();
  }
  EXPECT_GE(flops, 2 * (4 * 16 * 32 + 4 * 32 * 10));
  EXPECT_EQ(report["top1"]["rows"], 12);
  EXPECT_GT(report["error"]["sqnr_db"].get<double>(), 30);
  EXPECT_EQ(report["layers"][0]["name"], "d");
  EXPECT_TRUE(report["layers"][0]["int8_out"].get<bool>());
  // Whatever runs it gives the same numbers: integers are exact.
  const ToolResult check = RunTool({"run", output, "--check"});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("error=0 "));
  // Both engines calibrate alike.
  const std::string other = (folder / "q2.hlo").string();
  ASSERT_EQ(RunTool({"quantize", module, "--inputs=3", "-o", other, "--engine=evaluator"}).exit_code, 0);
  const ToolResult small =
      RunTool({"quantize", module, "--inputs=3", "-o", (folder / "d.hlo").string(), "--drop-weights"});
  EXPECT_EQ(small.exit_code, 0) << small.err;
  EXPECT_THAT(small.out, HasSubstr("2 of 2 convolutions and dots in int8"));
  EXPECT_THAT(ReadFile(folder / "d.hlo"), ::testing::Not(HasSubstr("parameter(1)")));
}

TEST(Quantize, ReadsWeightsAndAFolderOfInputs) {
  const auto folder = FreshFolder("quantize_files");
  const std::string module = (folder / "m.hlo").string(), weights = (folder / "w.safetensors").string();
  WriteFile(module, kNetwork);
  auto tensor = [](std::vector<int64_t> dimensions, float step) {
    hlo::Literal literal(hlo::Shape::Array(hlo::PrimitiveType::kF32, std::move(dimensions)));
    for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetDouble(i, step * static_cast<float>(i % 17 - 8));
    return literal;
  };
  hlo::SafetensorsFile file;
  file.tensors = {{"params.w0", tensor({16, 32}, 0.01f)}, {"in.2", tensor({32, 10}, 0.02f)}};
  ASSERT_TRUE(hlo::WriteSafetensors(weights, file).ok());
  std::filesystem::create_directory(folder / "inputs");
  for (const char* name : {"a.safetensors", "b.safetensors"}) {
    hlo::SafetensorsFile input;
    input.tensors = {{"in.0", tensor({4, 16}, name[0] == 'a' ? 0.1f : 0.2f)}};
    ASSERT_TRUE(hlo::WriteSafetensors((folder / "inputs" / name).string(), input).ok());
  }
  const ToolResult result =
      RunTool({"quantize", module, "--weights=" + weights, "--inputs=" + (folder / "inputs").string(),
               "--test-inputs=" + (folder / "inputs" / "a.safetensors").string(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["inputs"], 2);
  EXPECT_EQ(result.json()["test_inputs"], 1);
  EXPECT_NEAR(result.json()["layers"][0]["data_scale"].get<double>(), 0.2 * 8 / 127, 1e-6);
}

TEST(Quantize, SaysWhatIsWrong) {
  const auto folder = FreshFolder("quantize_wrong");
  const std::string module = (folder / "m.hlo").string();
  WriteFile(module, "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] negate(x)\n}\n");
  ToolResult result = RunTool({"quantize", module, "--activations=x"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no convolution and no dot"));
  WriteFile(module, kNetwork);
  result = RunTool({"quantize", module, "--activations=picture"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no parameter `picture`"));
  EXPECT_EQ(RunTool({"quantize", module, "--inputs=0"}).exit_code, 2);
  EXPECT_EQ(RunTool({"quantize", module, "--inputs=" + (folder / "none").string()}).exit_code, 1);
  EXPECT_EQ(RunTool({"quantize", module, "--calibration=mean"}).exit_code, 2);
}

}  // namespace
}  // namespace smelt::cli

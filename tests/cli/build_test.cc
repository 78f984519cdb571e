// Deployable modules: built by the tool, run by the example in C and by the library, compared with the evaluator.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/file/read.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "runtime/deploy/cpu_features.h"
#include "runtime/deploy/deployed_module.h"
#include "runtime/deploy/smelt_run.h"
#include "tests/cli/tool.h"
#include "tests/shell.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using runtime::deploy::DeployedModule;
using ::testing::HasSubstr;
using ::testing::Not;

// What a program gives, and what it takes.
struct Expected {
  std::vector<hlo::Literal> inputs;
  hlo::Literal result;
};

Expected Evaluated(const std::string& path) {
  const std::unique_ptr<hlo::Module> module = hlo::ReadModuleFile(path).value();
  Expected expected{hlo::MakeInputs(*module).value(), {}};
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : expected.inputs) arguments.push_back(&input);
  expected.result = hlo::Evaluate(*module, arguments).value();
  return expected;
}

std::string Bytes(const hlo::Literal& literal) {
  return std::string(static_cast<const char*>(literal.raw()), literal.byte_size());
}

void ExpectFloats(const std::string& got, const hlo::Literal& want) {
  ASSERT_EQ(got.size(), static_cast<size_t>(want.byte_size()));
  for (int64_t i = 0; i < want.element_count(); ++i) {
    float value;
    std::memcpy(&value, got.data() + i * sizeof(float), sizeof(float));
    ASSERT_NEAR(value, want.GetDouble(i), 1e-4 * (1 + std::abs(want.GetDouble(i)))) << i;
  }
}

class Build : public ::testing::Test {
 protected:
  Build() : folder_(FreshFolder("build")), program_((folder_ / "m.hlo").string()) {
    WriteFile(program_, R"(HloModule dense
ENTRY main { x = f32[8,48] parameter(0)
  w = f32[48,64] parameter(1)
  b = f32[64] parameter(2)
  s = f32[64] parameter(3)
  d = f32[8,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sb = f32[8,64] broadcast(s), dimensions={1}
  m = f32[8,64] multiply(d, sb)
  bb = f32[8,64] broadcast(b), dimensions={1}
  a = f32[8,64] add(m, bb)
  ROOT t = f32[8,64] tanh(a) })");
  }

  std::string Path(const char* name) const { return (folder_ / name).string(); }

  // The values of the parameters from the second on.
  std::string Weights(const Expected& expected) const {
    hlo::SafetensorsFile file;
    const char* names[] = {"x", "w", "b", "s"};
    for (size_t i = 1; i < expected.inputs.size(); ++i) file.tensors.push_back({names[i], expected.inputs[i]});
    EXPECT_TRUE(hlo::WriteSafetensors(Path("weights.safetensors"), file).ok());
    return Path("weights.safetensors");
  }

  fs::path folder_;
  std::string program_;
};

TEST_F(Build, AnExampleInCRunsItLikeTheEvaluator) {
  const ToolResult built = RunTool({"build", program_, "-o", Path("m")});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Expected expected = Evaluated(program_);
  std::string command = absl::StrCat("env -i ", SMELT_RUN_MODULE, " ", Path("m"));
  for (size_t i = 0; i < expected.inputs.size(); ++i) {
    WriteFile(folder_ / absl::StrCat("in.", i), Bytes(expected.inputs[i]));
    absl::StrAppend(&command, " ", (folder_ / absl::StrCat("in.", i)).string());
  }
  const auto [out, status] = Shell(command);
  EXPECT_EQ(status, 0);
  ExpectFloats(out, expected.result);
}

TEST_F(Build, NothingThatRunsItNeedsACompilerOrAbseil) {
  ASSERT_EQ(RunTool({"build", program_, "-o", Path("m")}).exit_code, 0);
  for (const std::string& file :
       {std::string(SMELT_RUN_MODULE), std::string(SMELT_RUN_LIBRARY), Path("m/kernels.so")}) {
    const auto [needed, status] = Shell(absl::StrCat("ldd ", file));
    for (const char* name : {"LLVM", "absl", "protobuf", "torch", "sqlite", "xgboost"})
      EXPECT_THAT(needed, Not(HasSubstr(name))) << file;
    EXPECT_THAT(needed, Not(HasSubstr("not found"))) << file;
    const auto [symbols, nm] = Shell(absl::StrCat("nm -D --undefined-only ", file));
    for (const char* name : {"llvm", "absl", "google"}) EXPECT_THAT(symbols, Not(HasSubstr(name))) << file;
  }
  const auto [exported, status] =
      Shell(absl::StrCat("nm -D --defined-only ", SMELT_RUN_LIBRARY, " | grep -v smelt_run_"));
  EXPECT_EQ(exported, "") << "only the C interface is visible";
}

TEST_F(Build, WeightsBecomePartOfTheModule) {
  const Expected expected = Evaluated(program_);
  const ToolResult built =
      RunTool({"build", program_, "--weights", Weights(expected), "-o", Path("m"), "--threads=2", "--json"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  // What is packed or scaled replaces what it was made from.
  EXPECT_LT(built.json()["weight_bytes"].get<int64_t>(), 1.3 * 48 * 64 * 4 + 8192);
  std::unique_ptr<DeployedModule> module;
  const runtime::Status status = DeployedModule::Load(Path("m"), 0, &module);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_EQ(module->plan().inputs.size(), 1);
  EXPECT_EQ(module->plan().inputs[0].name, "x");
  EXPECT_EQ(module->plan().threads, 2);
  for (int run = 0; run < 2; ++run) {
    std::memcpy(module->input(0), expected.inputs[0].raw(), expected.inputs[0].byte_size());
    ASSERT_TRUE(module->Run().ok());
    ExpectFloats(std::string(static_cast<const char*>(module->output(0)), expected.result.byte_size()),
                 expected.result);
  }
  const nlohmann::json manifest = nlohmann::json::parse(ReadFile(Path("m/manifest.json")));
  EXPECT_EQ(manifest["inputs"].size(), 1);
  EXPECT_EQ(manifest["outputs"][0]["dimensions"], nlohmann::json({8, 64}));
}

TEST_F(Build, TheInterfaceInCSaysWhatIsWrong) {
  ASSERT_EQ(RunTool({"build", program_, "-o", Path("m")}).exit_code, 0);
  const auto refusal = [](const auto& call) {
    char* error = nullptr;
    EXPECT_FALSE(call(&error));
    const std::string text = error == nullptr ? "" : error;
    smelt_run_free(error);
    return text;
  };
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_load(Path("none").c_str(), 0, e); }),
              HasSubstr("is no deployable module, which `smelt build` makes"));
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_load(nullptr, 0, e); }), HasSubstr("null"));
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_load(Path("m").c_str(), -1, e); }), HasSubstr("threads"));
  EXPECT_EQ(smelt_run_load(Path("none").c_str(), 0, nullptr), nullptr);
  SmeltRun* module = smelt_run_load(Path("m").c_str(), 2, nullptr);
  ASSERT_NE(module, nullptr);
  const float value = 1;
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_set_input(module, 0, &value, 4, e); }),
              HasSubstr("input 0 (`x`) has 1536 bytes, 4 were given"));
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_set_input(module, 4, &value, 4, e); }), HasSubstr("4 inputs"));
  EXPECT_THAT(refusal([&](char** e) { return smelt_run_set_input(module, 2, nullptr, 256, e); }), HasSubstr("null"));
  EXPECT_EQ(smelt_run_input(module, -1), nullptr);
  EXPECT_EQ(smelt_run_output_data(module, 1), nullptr);
  EXPECT_EQ(smelt_run_execute(module, nullptr), 1);
  std::vector<char> out(8 * 64 * 4);
  EXPECT_EQ(smelt_run_get_output(module, 0, out.data(), static_cast<int64_t>(out.size()), nullptr), 1);
  smelt_run_delete(module);
}

TEST_F(Build, TornFilesAreRefused) {
  ASSERT_EQ(RunTool({"build", program_, "--weights", Weights(Evaluated(program_)), "-o", Path("m")}).exit_code, 0);
  for (const char* name : {"plan.bin", "kernels.so", "weights.bin"}) {
    const std::string path = Path(absl::StrCat("m/", name).c_str());
    const std::string whole = ReadFile(path);
    std::string changed = whole;
    changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 1);
    for (const std::string& torn : {whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 1),
                                    whole.substr(0, 0), whole + "x", changed}) {
      WriteFile(path, torn);
      std::unique_ptr<DeployedModule> module;
      const runtime::Status status = DeployedModule::Load(Path("m"), 0, &module);
      EXPECT_EQ(status.code, runtime::Status::Code::kDataLoss) << name << torn.size() << status.message;
      EXPECT_THAT(status.message, HasSubstr(name));
    }
    fs::remove(path);
    std::unique_ptr<DeployedModule> module;
    EXPECT_EQ(DeployedModule::Load(Path("m"), 0, &module).code, runtime::Status::Code::kNotFound) << name;
    WriteFile(path, whole);
    EXPECT_TRUE(DeployedModule::Load(Path("m"), 0, &module).ok());
  }
}

TEST_F(Build, AnotherProcessorIsToldWhatItLacks) {
  // No processor has both of them.
  const std::string other = runtime::deploy::MissingFeatures({"xop"}).empty() ? "icelake-server" : "bdver4";
  const ToolResult built = RunTool({"build", program_, absl::StrCat("--target=cpu:", other), "-o", Path("m")});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  std::unique_ptr<DeployedModule> module;
  const runtime::Status status = DeployedModule::Load(Path("m"), 0, &module);
  EXPECT_EQ(status.code, runtime::Status::Code::kFailedPrecondition);
  EXPECT_THAT(status.message, HasSubstr(absl::StrCat("is for the processor ", other, ", and this one lacks ")));
}

TEST_F(Build, CodeForAnotherArchitectureIsBuiltAndNotRun) {
  const bool arm = runtime::deploy::Architecture() == "aarch64";
  const std::string target = absl::StrCat("--target=cpu:", arm ? "haswell" : "neoverse-n1");
  const ToolResult built = RunTool({"build", program_, target, "-o", Path("m")});
  if (built.err.find("no linker for") != std::string::npos) GTEST_SKIP() << built.err;
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const nlohmann::json manifest = nlohmann::json::parse(ReadFile(Path("m/manifest.json")));
  EXPECT_EQ(manifest["architecture"], arm ? "x86_64" : "aarch64");
  EXPECT_THAT(manifest["features"].dump(), HasSubstr(arm ? "avx2" : "dotprod"));
  std::unique_ptr<DeployedModule> module;
  EXPECT_EQ(DeployedModule::Load(Path("m"), 0, &module).code, runtime::Status::Code::kFailedPrecondition);
  // No engine of another kind takes the place of code that cannot run here.
  const std::string records = Path("records");
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"run", "--check"},
                                               {"bench"},
                                               {"profile", "-o", records},
                                               {"tune", "-o", Path("run")}}) {
    std::vector<std::string> words = verb;
    words.insert(words.end(), {program_, target});
    const ToolResult refused = RunTool(words);
    EXPECT_NE(refused.exit_code, 0) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(arm ? "x86_64" : "is for aarch64"));
  }
  EXPECT_EQ(ReadFile(Path("records/shard-00000.tfrecord")), "") << "it says nothing of the kernels";
}

TEST_F(Build, AmxIsAskedForWhereAKernelUsesIt) {
  const auto features = [&](const std::string& type, const std::string& sum) {
    WriteFile(program_, absl::StrCat("HloModule m\nENTRY main { x = ", type, "[64,64] parameter(0)\n  y = ", type,
                                     "[64,64] parameter(1)\n  ROOT d = ", sum, "[64,64] dot(x, y), ",
                                     "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"));
    const ToolResult built = RunTool({"build", program_, "--target=cpu:sapphirerapids", "-o", Path("m")});
    EXPECT_EQ(built.exit_code, 0) << built.err;
    return nlohmann::json::parse(ReadFile(Path("m/manifest.json")))["features"].dump();
  };
  EXPECT_THAT(features("f32", "f32"), Not(HasSubstr("amx")));
  fs::remove_all(Path("m"));
  EXPECT_THAT(features("s8", "s32"), HasSubstr("amx-int8"));
}

TEST_F(Build, WhatOnlyTheEvaluatorRunsIsRefusedByName) {
  WriteFile(program_, R"(HloModule m
ENTRY main { low = f32[] parameter(0)
  high = f32[] parameter(1)
  ROOT drawn = f32[8] rng(low, high), distribution=rng_uniform
})");
  const ToolResult built = RunTool({"build", program_, "-o", Path("m")});
  EXPECT_EQ(built.exit_code, 3);
  EXPECT_THAT(built.err, HasSubstr("`drawn` of computation `main` runs in the evaluator alone"));
  EXPECT_FALSE(fs::exists(Path("m")));
}

TEST_F(Build, WithoutALinkerItSaysWhatItNeeds) {
  ::setenv("SMELT_LD", "no-such-linker", 1);
  const ToolResult built = RunTool({"build", program_, "-o", Path("m")});
  ::unsetenv("SMELT_LD");
  EXPECT_EQ(built.exit_code, 1);
  EXPECT_THAT(built.err, HasSubstr("needs one of ld, ld.lld, mold, ld.gold on PATH"));
  EXPECT_FALSE(fs::exists(Path("m")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "only the program";
}

TEST_F(Build, AFullDiskLeavesNothing) {
  const ToolResult built = RunTool({"build", program_, "-o", Path("m")}, {.file_size_limit = 3000});
  EXPECT_EQ(built.exit_code, 1);
  EXPECT_FALSE(fs::exists(Path("m")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "only the program";
}

TEST_F(Build, AFolderOfAnotherKindIsNotReplaced) {
  fs::create_directories(Path("m"));
  WriteFile(Path("m/notes.txt"), "mine");
  const ToolResult built = RunTool({"build", program_, "-o", Path("m")});
  EXPECT_EQ(built.exit_code, 1);
  EXPECT_THAT(built.err, HasSubstr("holds something else than a deployable module"));
  EXPECT_EQ(ReadFile(Path("m/notes.txt")), "mine");
}

TEST_F(Build, KilledAtAnyMomentThereIsAWholeModuleOrNone) {
  // The first one has nothing to replace, later ones have.
  for (int delay = 0; delay < 24; ++delay) {
    Tool tool = Tool::Start({"build", program_, "-o", Path("m"), "--no-cache"});
    ::usleep(static_cast<useconds_t>(1000 * delay * delay));
    tool.Signal(SIGKILL);
    tool.Wait();
    std::unique_ptr<DeployedModule> module;
    const runtime::Status status = DeployedModule::Load(Path("m"), 0, &module);
    EXPECT_TRUE(status.ok() || !fs::exists(Path("m"))) << delay << " " << status.message;
  }
  ASSERT_EQ(RunTool({"build", program_, "-o", Path("m/")}).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "leftovers go with the next build";
}

TEST_F(Build, LoopsBranchesUpdatesAndNativeOperationsAreDeployed) {
  WriteFile(program_, R"(HloModule m
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
body { s = (s32[], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[4,16] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = s32[] constant(0)
  row = f32[1,16] dynamic-slice(a, i, zero), dynamic_slice_sizes={1,16}
  e = f32[1,16] exponential(row)
  b = f32[4,16] dynamic-update-slice(a, e, i, zero)
  ROOT t = (s32[], f32[4,16]) tuple(j, b) }
cond { s = (s32[], f32[4,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
up { p = f32[4,16] parameter(0)
  ROOT n = f32[4,16] negate(p) }
down { p = f32[4,16] parameter(0)
  ROOT n = f32[4,16] sort(p), dimensions={1}, to_apply=less }
ENTRY main { x = f32[4,16] parameter(0)
  which = s32[] parameter(1)
  z = s32[] constant(0)
  t = (s32[], f32[4,16]) tuple(z, x)
  l = (s32[], f32[4,16]) while(t), condition=cond, body=body
  y = f32[4,16] get-tuple-element(l), index=1
  ROOT r = f32[4,16] conditional(which, y, y), branch_computations={up, down} })");
  ASSERT_EQ(RunTool({"build", program_, "-o", Path("m")}).exit_code, 0);
  const std::unique_ptr<hlo::Module> program = hlo::ReadModuleFile(program_).value();
  std::unique_ptr<DeployedModule> module;
  ASSERT_TRUE(DeployedModule::Load(Path("m"), 0, &module).ok());
  for (int32_t which : {0, 1}) {
    std::vector<hlo::Literal> inputs = hlo::MakeInputs(*program).value();
    inputs[1].SetInteger(0, which);
    const hlo::Literal want = hlo::Evaluate(*program, {&inputs[0], &inputs[1]}).value();
    for (size_t i = 0; i < 2; ++i) std::memcpy(module->input(i), inputs[i].raw(), inputs[i].byte_size());
    ASSERT_TRUE(module->Run().ok());
    ExpectFloats(std::string(static_cast<const char*>(module->output(0)), want.byte_size()), want);
  }
}

}  // namespace
}  // namespace smelt::cli

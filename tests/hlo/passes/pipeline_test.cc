#include "hlo/passes/pipeline.h"

#include <filesystem>

#include "hlo/file/read.h"
#include "hlo/golden/golden.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

namespace fs = std::filesystem;

struct Program {
  std::string name;
  fs::path module, golden;
};

// The example programs, and the smaller ones of the corpus where it is there.
std::vector<Program> ExamplePrograms() {
  std::vector<Program> programs;
  const fs::path models = fs::path(SMELT_SOURCE_DIR) / "models";
  for (const auto& entry : fs::directory_iterator(models)) {
    if (entry.path().extension() != ".hlo") continue;
    const std::string name = entry.path().stem();
    programs.push_back({name, entry.path(), models / "golden" / (name + ".safetensors")});
  }
  std::sort(programs.begin(), programs.end(), [](const Program& a, const Program& b) { return a.name < b.name; });
  return programs;
}

std::vector<Program> CorpusPrograms(size_t count) {
  const fs::path folder = fs::path(SMELT_SOURCE_DIR) / ".." / "shared" / "corpora" / "programs";
  std::vector<std::pair<uintmax_t, Program>> by_size;
  if (!fs::is_directory(folder)) return {};
  constexpr std::string_view kSuffix = ".before_optimizations.hlo";
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(kSuffix)) continue;
    const std::string name = file.substr(0, file.size() - kSuffix.size());
    const fs::path golden = folder / (name + ".golden.safetensors");
    if (fs::exists(golden)) by_size.push_back({entry.file_size(), {name, entry.path(), golden}});
  }
  std::sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.name) < std::tie(b.first, b.second.name);
  });
  std::vector<Program> programs;
  for (size_t i = 0; i < std::min(count, by_size.size()); ++i) programs.push_back(by_size[i].second);
  return programs;
}

void ExpectGoldenResults(const Module& module, const Golden& golden) {
  const absl::StatusOr<std::vector<Literal>> inputs = golden.MakeInputs(module);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  std::vector<const Literal*> arguments;
  for (const Literal& input : *inputs) arguments.push_back(&input);
  const absl::StatusOr<Literal> result = Evaluate(module, arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto outputs = golden.Compare(*result);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const OutputComparison& output : *outputs) {
    EXPECT_TRUE(output.ok) << "output " << output.index << " differs by " << output.error;
  }
}

PassOptions VerifyingOptions() {
  PassOptions options;
  options.dump = [](std::string_view pass, const Module& module) {
    const absl::Status status = VerifyModule(module);
    return status.ok() ? status : absl::InternalError(StrCat("after ", pass, ": ", status.message().data()));
  };
  return options;
}

// Runs passes on a program with verification after each, once more to see that nothing changes, and compares the
// results with XLA's.
void ExpectKeepsResults(const Program& program, const std::string& pass) {
  SCOPED_TRACE(StrCat(program.name, ", pass ", pass));
  const auto module = ReadModuleFile(program.module);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto golden = Golden::Load(program.golden);
  ASSERT_TRUE(golden.ok()) << golden.status();
  const absl::StatusOr<bool> changed = RunPasses(**module, {pass}, VerifyingOptions());
  ASSERT_TRUE(changed.ok()) << changed.status();
  const Hash128 fingerprint = Fingerprint(**module);
  const absl::StatusOr<bool> again = RunPasses(**module, {pass});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Fingerprint(**module), fingerprint) << "a second run changes the program";
  if (pass != "default") {
    EXPECT_FALSE(*again);
    if (!*changed) return;
  }
  ExpectGoldenResults(**module, *golden);
}

TEST(DefaultPipeline, KeepsTheResultsOfTheExamplePrograms) {
  for (const Program& program : ExamplePrograms()) ExpectKeepsResults(program, "default");
}

TEST(DefaultPipeline, KeepsTheResultsOfRealPrograms) {
  const std::vector<Program> programs = CorpusPrograms(40);
  if (programs.empty()) GTEST_SKIP() << "no corpus of programs at ../shared/corpora/programs";
  for (const Program& program : programs) ExpectKeepsResults(program, "default");
}

class EachPass : public testing::TestWithParam<Pass> {};

TEST_P(EachPass, AloneKeepsTheResultsOfPrograms) {
  for (const Program& program : ExamplePrograms()) {
    if (fs::file_size(program.module) < 20000) ExpectKeepsResults(program, std::string(GetParam().name));
  }
  for (const Program& program : CorpusPrograms(16)) ExpectKeepsResults(program, std::string(GetParam().name));
}

INSTANTIATE_TEST_SUITE_P(Table, EachPass, testing::ValuesIn(Passes()), [](const auto& info) {
  std::string name(info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Pipeline, ResNetBecomesConvolutionsAndElementwiseWork) {
  const auto module = ReadModuleFile((fs::path(SMELT_SOURCE_DIR) / "models" / "resnet18.hlo").string());
  ASSERT_TRUE(module.ok()) << module.status();
  const int64_t before = (*module)->instruction_count();
  ASSERT_TRUE(RunPasses(**module, {"default"}).ok());
  EXPECT_LT((*module)->instruction_count(), before);
  const std::string opcodes = StrCat(" ", OpcodesOf(**module), " ");
  EXPECT_EQ(opcodes.find(" call "), std::string::npos);
  EXPECT_EQ(opcodes.find(" reshape "), std::string::npos);
}

TEST(Pipeline, AnUnknownNameListsThePasses) {
  const auto module = Parse("ENTRY e { x = f32[] parameter(0) y = f32[] negate(x) ROOT r = f32[] negate(y) }");
  const absl::StatusOr<bool> changed = RunPasses(*module, {"algebraic-simplifier", "loop-fusion"});
  ASSERT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(changed.status().message().find("`loop-fusion`"), absl::string_view::npos);
  for (const Pass& pass : Passes()) {
    EXPECT_NE(std::string(changed.status().message()).find(pass.name), std::string::npos) << pass.name;
  }
  EXPECT_EQ(module->entry()->instruction_count(), 3);  // nothing has run
}

TEST(Pipeline, DumpsAfterEachPassThatChanges) {
  const auto module = Parse("ENTRY e { x = f32[] parameter(0) y = f32[] negate(x) ROOT r = f32[] negate(y) }");
  std::vector<std::string> seen;
  PassOptions options;
  options.dump = [&](std::string_view pass, const Module&) {
    seen.emplace_back(pass);
    return absl::OkStatus();
  };
  ASSERT_TRUE(*RunPasses(*module, {"tuple-simplifier", "algebraic-simplifier", "dead-code"}, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"", "algebraic-simplifier"}));
}

TEST(Pipeline, AnErrorOfTheDumpEndsTheRun) {
  const auto module = Parse("ENTRY e { x = f32[] parameter(0) y = f32[] negate(x) ROOT r = f32[] negate(y) }");
  PassOptions options;
  options.dump = [](std::string_view, const Module&) { return absl::ResourceExhaustedError("disk full"); };
  EXPECT_EQ(RunPasses(*module, {"default"}, options).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Pipeline, EveryPassIsInTheDefaultPipelineAndHasAReason) {
  const auto module = Parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }");
  for (const std::string& name : DefaultPasses()) EXPECT_TRUE(RunPasses(*module, {name}).ok()) << name;
  for (const Pass& pass : Passes()) EXPECT_FALSE(pass.why.empty()) << pass.name;
}

TEST(Pipeline, AScheduleIsDroppedWithTheOrderThatItGave) {
  const auto module = Parse(R"(HloModule m, is_scheduled=true
    ENTRY e { x = f32[] parameter(0) y = f32[] negate(x) ROOT r = f32[] negate(y) })");
  ASSERT_TRUE(*RunPasses(*module, {"default"}));
  EXPECT_EQ(ToText(*module).find("is_scheduled"), std::string::npos);
}

// 40,000 instructions of chained layers, each with a function of its own.
TEST(Pipeline, LargeModulesTakeSeconds) {
  std::string text = "HloModule m\n";
  constexpr int kLayers = 2500;
  for (int i = 0; i < kLayers; ++i) {
    text += StrCat("layer", i, R"( { x = f32[8,64] parameter(0) b = f32[64] parameter(1) c = f32[1,64] reshape(b)
      d = f32[1,64] broadcast(c), dimensions={0,1} e = f32[64] reshape(d) f = f32[8,64] broadcast(e), dimensions={1}
      g = f32[8,64] add(x, f) z = f32[] constant(0) y = f32[8,64] broadcast(z), dimensions={} h = f32[8,64] maximum(g, y)
      two = f32[] constant(2) t = f32[8,64] broadcast(two), dimensions={} u = f32[8,64] power(h, t)
      n = f32[8,64] negate(u) ROOT m = f32[8,64] negate(n) })",
                   "\n");
  }
  text += "ENTRY e { v0 = f32[8,64] parameter(0) b = f32[64] parameter(1)\n";
  for (int i = 0; i < kLayers; ++i) {
    text +=
        StrCat(i + 1 == kLayers ? "ROOT " : "", "v", i + 1, " = f32[8,64] call(v", i, ", b), to_apply=layer", i, "\n");
  }
  text += "}";
  const auto module = Parse(text);
  ASSERT_NE(module, nullptr);
  EXPECT_GT(module->instruction_count(), 40000);
  ASSERT_TRUE(RunPasses(*module, {"default"}).ok());
  ASSERT_TRUE(VerifyModule(*module).ok());
  // A bias, a maximum and a product a layer; zeros, broadcasts and the bias's broadcast are shared.
  EXPECT_LT(module->instruction_count(), 3 * kLayers + 16);
}

}  // namespace
}  // namespace smelt::hlo

// Real programs with outputs that XLA computed, where the corpus lies beside the repository (../shared/corpora). The
// whole corpus takes minutes, so every program below a size runs here until the time is used up; `SMELT_GOLDEN_SECONDS`
// gives more.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "hlo/file/read.h"
#include "hlo/golden/golden.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

namespace fs = std::filesystem;

struct Program {
  fs::path text;
  fs::path golden;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The empty string when the outputs agree, otherwise what is wrong.
std::string Check(const Program& program) {
  auto module = ReadModuleFile(program.text.string());
  if (!module.ok()) return std::string(module.status().message());
  auto golden = Golden::Load(program.golden.string());
  if (!golden.ok()) return std::string(golden.status().message());
  auto inputs = golden->MakeInputs(**module);
  if (!inputs.ok()) return std::string(inputs.status().message());
  std::vector<const Literal*> arguments;
  for (const Literal& input : *inputs) arguments.push_back(&input);
  auto result = Evaluate(**module, arguments, {.max_seconds = 60});
  if (!result.ok()) return std::string(result.status().message());
  auto comparisons = golden->Compare(*result);
  if (!comparisons.ok()) return std::string(comparisons.status().message());
  for (const OutputComparison& output : *comparisons) {
    if (!output.ok) return "out." + std::to_string(output.index) + " error " + std::to_string(output.error);
  }
  return "";
}

// Smallest texts first: most programs, and every kind of operation, for the time.
void RunSmallestFirst(std::vector<Program> programs, double seconds, size_t least) {
  std::sort(programs.begin(), programs.end(), [](const Program& a, const Program& b) {
    return std::pair(fs::file_size(a.text), a.text) < std::pair(fs::file_size(b.text), b.text);
  });
  if (const char* text = std::getenv("SMELT_GOLDEN_SECONDS")) seconds = std::atof(text);
  const auto start = std::chrono::steady_clock::now();
  size_t run = 0;
  for (const Program& program : programs) {
    if (SecondsSince(start) > seconds && run >= least) break;
    EXPECT_EQ(Check(program), "") << program.text;
    ++run;
  }
  std::printf("%zu of %zu programs in %.1f s\n", run, programs.size(), SecondsSince(start));
}

TEST(EvaluateCorpus, ProgramsGiveTheirGoldenOutputs) {
  const fs::path folder = fs::path(SMELT_SOURCE_DIR) / ".." / "shared" / "corpora" / "programs";
  if (!fs::exists(folder)) GTEST_SKIP() << "no corpus at " << folder;
  // Outputs that rounding decides: see hlo/evaluator/README.md.
  const std::string excluded[] = {"gauss_newton_jaxopt_fit", "resnet50_flax_bf16_train_b2"};
  std::vector<Program> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string stem = name.substr(0, name.find('.'));
    if (!name.ends_with("before_optimizations.hlo") && !name.ends_with("before_fusion.hlo")) continue;
    if (std::find(std::begin(excluded), std::end(excluded), stem) != std::end(excluded)) continue;
    const fs::path golden = folder / (stem + ".golden.safetensors");
    if (fs::exists(golden)) programs.push_back({entry.path(), golden});
  }
  RunSmallestFirst(std::move(programs), 10, 20);
}

TEST(EvaluateCorpus, FileTestsOfXlaGiveTheirGoldenOutputs) {
  const fs::path folder = fs::path(SMELT_SOURCE_DIR) / ".." / "shared" / "corpora" / "xla";
  if (!fs::exists(folder / "golden")) GTEST_SKIP() << "no corpus at " << folder;
  std::vector<Program> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "lit")) {
    const fs::path golden = folder / "golden" / (entry.path().stem().string() + ".safetensors");
    if (!fs::exists(golden)) continue;
    auto read = Golden::Load(golden.string());
    if (!read.ok()) continue;  // some only record why XLA gave no output
    // f16 sums that XLA rounds after each step, and an unstable sort of equal keys.
    const std::string name = entry.path().stem().string();
    if (name.ends_with("reduce_multirow__f16_v4") || name.ends_with("import_emit_stablehlo__42")) continue;
    programs.push_back({entry.path(), golden});
  }
  RunSmallestFirst(std::move(programs), 6, 20);
}

}  // namespace
}  // namespace smelt::hlo

// Deployable modules for AArch64, run under an emulator by the example in C, compared with the evaluator.
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "fuzz/generate/generate.h"
#include "fuzz/trial/expectation.h"
#include "fuzz/trial/leaves.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/file/read.h"
#include "hlo/text/printer.h"
#include "kernels/tiles/tiles.h"
#include "targets/cpu/deploy/build_module.h"
#include "targets/cpu/processor/detect.h"
#include "targets/program.h"
#include "tests/kernels/agreement/snippets.h"
#include "tests/scratch_folder.h"
#include "tests/shell.h"

namespace smelt {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeed = 20261126;
constexpr int kTiles = 3;  // of each kernel that are tried

class Aarch64 : public ::testing::Test {
 protected:
  // The results of a module, built for an Arm server's processor and run by the emulator. Tile 0 of each kernel is its
  // default.
  absl::StatusOr<std::vector<hlo::Literal>> Run(const hlo::Module& module, const std::string& fusion, int threads,
                                                size_t tile, const fuzz::Expectation& expected) const {
    SMELT_ASSIGN_OR_RETURN(const cpu::Target target,
                           cpu::ParseTarget(absl::StrCat("cpu:neoverse-n1,threads=", threads)));
    SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::PrepareProgram(module.Clone(), "module.hlo"));
    SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, fusion, target));
    cpu::deploy::ModuleRequest request;
    request.fused = fused.module.get();
    request.target = target;
    SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused.module));
    for (const fusion::Kernel& kernel : kernels) {
      const auto tiles = kernels::nests::EnumerateTiles(kernel.computation(), target, kTiles);
      if (tile > 0 && tiles.ok() && tile < tiles->size()) request.options.schedules[kernel.hash] = (*tiles)[tile];
    }
    SMELT_RETURN_IF_ERROR(cpu::deploy::BuildModule(request, folder_.In("module")).status());

    std::string command = absl::StrCat(SMELT_AARCH64_RUN, " ", folder_.In("module"));
    std::vector<const hlo::Literal*> leaves;
    for (const hlo::Literal& input : expected.inputs) fuzz::AppendLeaves(input, &leaves);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const std::string path = folder_.In(absl::StrCat("in.", i));
      std::ofstream(path, std::ios::binary).write(static_cast<const char*>(leaves[i]->raw()), leaves[i]->byte_size());
      absl::StrAppend(&command, " ", path);
    }
    const auto [bytes, status] = Shell(absl::StrCat(command, " 2>", folder_.In("said")));
    if (status != 0) {
      std::ifstream said(folder_.In("said"));
      return absl::InternalError(
          absl::StrCat("status ", status, ": ", std::string(std::istreambuf_iterator<char>(said), {})));
    }
    std::vector<hlo::Literal> results;
    size_t at = 0;
    for (const hlo::Literal& leaf : expected.outputs) {
      SMELT_ASSIGN_OR_RETURN(hlo::Literal result, hlo::Literal::CreateUninitialized(leaf.shape()));
      if (bytes.size() - at < static_cast<size_t>(result.byte_size()))
        return absl::InternalError("the results end too early");
      std::memcpy(result.raw(), bytes.data() + at, result.byte_size());
      at += static_cast<size_t>(result.byte_size());
      results.push_back(std::move(result));
    }
    return results;
  }

  static void ExpectNear(const std::vector<hlo::Literal>& got, const fuzz::Expectation& want) {
    ASSERT_EQ(got.size(), want.outputs.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(fuzz::LeafError(want.outputs[i], got[i]), want.tolerances[i]) << "out." << i;
  }

  const ScratchFolder folder_;
};

TEST_F(Aarch64, RandomModulesGiveTheEvaluatorsResults) {
  const char* more = std::getenv("SMELT_AARCH64_MODULES");
  const int count = more != nullptr ? std::atoi(more) : 40;
  int ran = 0;
  for (int i = 0; i < count; ++i) {
    const std::unique_ptr<hlo::Module> module = fuzz::GenerateModule(kSeed, static_cast<uint64_t>(i));
    const auto expected = fuzz::Expect(*module, kSeed, 10);
    if (absl::IsUnimplemented(expected.status()) || absl::IsDeadlineExceeded(expected.status())) continue;
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto got =
        Run(*module, i % 2 == 0 ? "priority" : "random:1", 1 + i % 3 / 2, static_cast<size_t>(i % kTiles), *expected);
    if (absl::IsUnimplemented(got.status())) continue;  // a part that only the evaluator runs
    SCOPED_TRACE(absl::StrCat("module ", i, "\n", hlo::ToText(*module)));
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, *expected);
    ++ran;
  }
  EXPECT_GE(ran, count / 2);
}

TEST_F(Aarch64, EveryKindOfKernelGivesTheEvaluatorsResults) {
  size_t number = 0;
  for (const kernels::Snippet& snippet : kernels::Snippets()) {
    const std::unique_ptr<hlo::Module> module = kernels::ParseSnippet(snippet);
    const auto expected = fuzz::Expect(*module, kSeed, 10);
    SCOPED_TRACE(snippet.name);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto got = Run(*module, "priority", /*threads=*/1, number++ % kTiles, *expected);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, *expected);
  }
}

TEST_F(Aarch64, ProgramsGiveTheEvaluatorsResults) {
  for (const char* name : {"dqn", "gray_scott"}) {
    const std::unique_ptr<hlo::Module> module =
        hlo::ReadModuleFile(absl::StrCat(SMELT_SOURCE_DIR "/models/", name, ".hlo")).value();
    const auto expected = fuzz::Expect(*module, kSeed, 60);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto got = Run(*module, "priority", /*threads=*/2, /*tile=*/0, *expected);
    SCOPED_TRACE(name);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, *expected);
  }
}

}  // namespace
}  // namespace smelt

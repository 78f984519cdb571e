// What fuzzing costs a change: random modules, compiled under random fusions, must give what the evaluator gives.
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "fuzz/campaign.h"
#include "gtest/gtest.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::fuzz {
namespace {

TEST(Agreement, FiveHundredRandomModules) {
  CampaignOptions options;
  options.seed = 2026;
  options.modules = 500;
  options.jobs = 2;
  options.minimise_seconds = 20;
  options.max_findings = 3;
  options.trial.configs = 5;
  options.trial.target = cpu::DetectTarget(/*measure=*/false);
  options.generator.max_instructions = 8;
  // No ScratchFolder: what is found outlives the test, and says where.
  options.folder = absl::StrCat(::testing::TempDir(), "/smelt-fuzz-agreement-", ::getpid());
  const CampaignReport report = RunCampaign(options).value();
  for (const CampaignFinding& finding : report.findings) {
    ADD_FAILURE() << "seed " << options.seed << ", module " << finding.index << ": "
                  << VerdictName(finding.verdict.kind) << " in " << finding.verdict.stage << ": "
                  << finding.verdict.detail << "\nsee " << finding.folder;
  }
  // A generator that makes what nothing runs would find nothing either.
  EXPECT_LT(report.refused, 25);
  EXPECT_LT(report.unstable, 25);
  std::error_code ignored;
  std::filesystem::remove(options.folder, ignored);  // where it is empty
}

}  // namespace
}  // namespace smelt::fuzz

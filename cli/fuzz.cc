// smelt fuzz: random modules, compiled against evaluated.
#include <cstdio>
#include <memory>

#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "fuzz/campaign.h"
#include "hlo/file/read.h"
#include "nlohmann/json.hpp"
#include "tuner/progress.h"

namespace smelt::cli {
namespace {

struct FuzzFlags {
  fuzz::CampaignOptions campaign;
  int64_t memory_limit = 4096;
  std::string module, target = "cpu:threads=1";
  bool json = false, quiet = false;
};

absl::Status End(const fuzz::CampaignReport& report) {
  if (report.interrupted) return Interrupt::End("the report is of the modules that were tried");
  return report.findings.empty() ? absl::OkStatus() : FailedQuietly();
}

absl::Status Fuzz(FuzzFlags& flags) {
  Interrupt interrupt;
  fuzz::CampaignOptions& options = flags.campaign;
  SMELT_ASSIGN_OR_RETURN(options.trial.target, ReadProcessor(flags.target));
  WarnOfThreads(options.trial.target.threads);
  options.limits.bytes = flags.memory_limit << 20;
  options.cancel = interrupt.flag();
  tuner::Progress progress;
  if (!flags.quiet) options.progress = &progress;
  if (!flags.module.empty()) {
    SMELT_ASSIGN_OR_RETURN(options.module, hlo::ReadModuleFile(flags.module));
    options.modules = 1;
  }
  SMELT_ASSIGN_OR_RETURN(const fuzz::CampaignReport report, fuzz::RunCampaign(options));
  if (flags.json) {
    nlohmann::json findings = nlohmann::json::array();
    for (const fuzz::CampaignFinding& finding : report.findings) {
      findings.push_back({{"module", finding.index},
                          {"kind", std::string(fuzz::VerdictName(finding.verdict.kind))},
                          {"stage", finding.verdict.stage},
                          {"config", finding.verdict.config},
                          {"detail", finding.verdict.detail},
                          {"folder", finding.folder},
                          {"instructions", finding.instructions}});
    }
    PrintJson({{"seed", options.seed},
               {"first", options.first},
               {"modules", report.modules},
               {"configs", options.trial.configs},
               {"unstable", report.unstable},
               {"refused", report.refused},
               {"refusals", report.refusals},
               {"seconds", report.seconds},
               {"interrupted", report.interrupted},
               {"findings", findings}});
    return End(report);
  }
  const int configs = options.expect_only ? 0 : options.trial.configs;
  std::printf("seed %llu: %lld modules x %d configurations in %.0f s, %zu findings, %lld unstable, %lld refused%s\n",
              static_cast<unsigned long long>(options.seed), static_cast<long long>(report.modules), configs,
              report.seconds, report.findings.size(), static_cast<long long>(report.unstable),
              static_cast<long long>(report.refused), report.interrupted ? ", interrupted" : "");
  for (const auto& [reason, count] : report.refusals) {
    std::printf("  refused %lld times: %s\n", static_cast<long long>(count), reason.c_str());
  }
  for (const fuzz::CampaignFinding& finding : report.findings) {
    std::printf("  module %llu: %s in %s%s%s\n", static_cast<unsigned long long>(finding.index),
                std::string(fuzz::VerdictName(finding.verdict.kind)).c_str(), finding.verdict.stage.c_str(),
                finding.folder.empty() ? "" : ", see ", finding.folder.c_str());
  }
  return End(report);
}

}  // namespace

Action AddFuzz(Arguments& arguments) {
  auto flags = std::make_shared<FuzzFlags>();
  fuzz::CampaignOptions& o = flags->campaign;
  arguments.Add("MODULE", flags->module,
                "Tried instead of random modules, with the inputs of module --first of --seed");
  arguments.Add("--modules", o.modules, "How many modules").NotNegative().ShowsDefault();
  arguments.Add("--seed", o.seed, "Equal seeds give equal modules").ShowsDefault();
  arguments.Add("--first", o.first, "Number of the first module of the seed").ShowsDefault();
  arguments.Add("--time", o.seconds, "Start no module after this many seconds; 0: no limit")
      .NotNegative()
      .ShowsDefault();
  arguments.Add(kOutputFlag, o.folder, "Folder for what is found: modules, reduced modules, configurations, inputs");
  arguments.Add("--configs", o.trial.configs, "Fusion configurations of each module").Between(1, 1000).ShowsDefault();
  arguments.Add("--jobs", o.jobs, "Modules at a time").Between(1, 256).ShowsDefault();
  arguments.Add("--instructions", o.generator.max_instructions, "Largest number of operations drawn for a module")
      .Between(2, 10000)
      .ShowsDefault();
  arguments.Add("--elements", o.generator.max_elements, "Largest array, in elements")
      .Between(1, 1 << 24)
      .ShowsDefault();
  arguments.Add("--time-limit", o.limits.seconds, "Seconds of processor time for one module; more is a hang")
      .Positive()
      .ShowsDefault();
  arguments.Add("--memory-limit", flags->memory_limit, "MiB for one module; more is a finding")
      .Between(64, 1 << 24)
      .ShowsDefault();
  arguments.Add("--minimise", o.minimise_seconds, "Seconds for minimising one finding; 0: not at all")
      .NotNegative()
      .ShowsDefault();
  arguments.Add("--findings", o.max_findings, "Stop after so many").Positive().ShowsDefault();
  arguments.Add("--target", flags->target, "What to compile for").ShowsDefault();
  arguments.AddFlag("--expect", o.expect_only,
                    "Try nothing: write modules, inputs and what any right engine gives for them into --out");
  arguments.AddFlag("--json", flags->json, "Print the report as JSON");
  arguments.AddFlag("--quiet", flags->quiet, "No progress line");
  return [flags] { return Fuzz(*flags); };
}

}  // namespace smelt::cli

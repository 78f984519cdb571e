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

struct Flags {
  fuzz::CampaignOptions campaign;
  int64_t memory_limit = 4096;
  std::string module, target = "cpu:threads=1";
  bool json = false, quiet = false;
};

absl::Status End(const fuzz::CampaignReport& report) {
  if (report.interrupted) return Interrupt::End("the report is of the modules that were tried");
  return report.findings.empty() ? absl::OkStatus() : FailedQuietly();
}

absl::Status Fuzz(Flags& flags) {
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

Action AddFuzz(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  fuzz::CampaignOptions& o = flags->campaign;
  app.add_option("MODULE", flags->module,
                 "Tried instead of random modules, with the inputs of module --first of --seed");
  app.add_option("--modules", o.modules, "How many modules")->check(NotNegative())->capture_default_str();
  app.add_option("--seed", o.seed, "Equal seeds give equal modules")->capture_default_str();
  app.add_option("--first", o.first, "Number of the first module of the seed")->capture_default_str();
  app.add_option("--time", o.seconds, "Start no module after this many seconds; 0: no limit")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option(kOutputFlag, o.folder, "Folder for what is found: modules, reduced modules, configurations, inputs");
  app.add_option("--configs", o.trial.configs, "Fusion configurations of each module")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--jobs", o.jobs, "Modules at a time")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--instructions", o.generator.max_instructions, "Largest number of operations drawn for a module")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  app.add_option("--elements", o.generator.max_elements, "Largest array, in elements")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--time-limit", o.limits.seconds, "Seconds of processor time for one module; more is a hang")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--memory-limit", flags->memory_limit, "MiB for one module; more is a finding")
      ->check(CLI::Range(64, 1 << 24))
      ->capture_default_str();
  app.add_option("--minimise", o.minimise_seconds, "Seconds for minimising one finding; 0: not at all")
      ->check(NotNegative())
      ->capture_default_str();
  app.add_option("--findings", o.max_findings, "Stop after so many")->check(Positive())->capture_default_str();
  app.add_option("--target", flags->target, "What to compile for")->capture_default_str();
  app.add_flag("--expect", o.expect_only,
               "Try nothing: write modules, inputs and what any right engine gives for them into --out");
  app.add_flag("--json", flags->json, "Print the report as JSON");
  app.add_flag("--quiet", flags->quiet, "No progress line");
  return [flags] { return Fuzz(*flags); };
}

}  // namespace smelt::cli

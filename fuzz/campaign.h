// The fuzzing of many modules: generate, try in a child, minimise what is found, write it down.
//
//   CampaignOptions options{.seed = 1, .modules = 20000, .folder = "findings"};
//   options.trial.target = cpu::ParseTarget("cpu:threads=1").value();
//   CampaignReport report = RunCampaign(options).value();
//
// Module i follows from (seed, i) alone. For each finding the folder gets a folder `SEED-INDEX` with module.hlo (as it
// was made), reduced.hlo, config.fusion.json and inputs.safetensors (for the reduced one), and finding.txt, which says
// what is wrong and how to see it again.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/generate/generate.h"
#include "fuzz/trial/child.h"
#include "fuzz/trial/trial.h"
#include "tuner/progress.h"

namespace smelt::fuzz {

struct CampaignOptions {
  uint64_t seed = 0;
  uint64_t first = 0;  // index of the first module
  int64_t modules = 100;
  double seconds = 0;  // no further module after so long; 0: no limit
  int jobs = 1;        // children at a time
  int64_t max_findings = 100;
  std::string folder;            // empty: findings are only counted and described
  double minimise_seconds = 60;  // of one finding; 0: none
  GeneratorOptions generator;
  ChildLimits limits;
  TrialOptions trial;                         // its seed and folder are set for each module
  std::shared_ptr<const hlo::Module> module;  // tried instead of random ones, as module `first`
  bool expect_only = false;  // nothing is tried: the folder gets what another engine must give (trial/expectation.h)
  tuner::Progress* progress = nullptr;
  const std::atomic<bool>* cancel = nullptr;
};

struct CampaignFinding {
  uint64_t index = 0;
  Verdict verdict;
  std::string folder;        // empty where none was written
  int64_t instructions = 0;  // of the reduced module
};

struct CampaignReport {
  int64_t modules = 0;  // tried to the end
  int64_t unstable = 0;
  int64_t refused = 0;
  std::map<std::string, int64_t> refusals;  // reason, how often
  std::vector<CampaignFinding> findings;
  double seconds = 0;
  bool interrupted = false;
};

// Errors: the folder cannot be written, or is missing where it is what is asked for; no child can be started.
absl::StatusOr<CampaignReport> RunCampaign(const CampaignOptions& options);

// The seed of the inputs, fusions and tiles of a module.
uint64_t TrialSeed(uint64_t seed, uint64_t index);

}  // namespace smelt::fuzz

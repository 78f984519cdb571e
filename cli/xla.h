// `--target=xla`: programs compiled and run by XLA:CPU in a Python child (targets/xla/), under fusions of ours or its
// own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "measure/outcome.h"
#include "targets/xla/program.h"

namespace smelt::cli {

// Whether a target's name is `xla` or `xla:threads=N`, and N.
bool IsXlaFusion(const std::string& fusion);
bool IsXlaTarget(const std::string& target);
absl::StatusOr<int> XlaThreads(const std::string& target);

// targets::kFusionHelp, and the two names that mean XLA's own choice.
extern const char* const kXlaFusionHelp;
// An error where such a name is asked for without XLA.
absl::Status RefuseXlaFusion(const std::string& fusion, const std::string& target);

// The file that a module argument stands for: itself, or for StableHLO what XLA's front end made of it.
absl::StatusOr<std::string> ModuleFile(const std::string& module, const std::string& python);
void AddPythonFlag(CLI::App& app, std::string* python);

struct XlaFlags {
  std::string python;
  double compile_seconds = 600;
};
void AddXlaFlags(CLI::App& app, XlaFlags* flags);

// A module ready to be compiled by XLA, as it is asked for.
struct XlaJob {
  measure::WorkerOptions worker;
  xla::XlaProgram program;
  measure::Candidate candidate;
  int64_t fusions = -1;  // in our program; -1: XLA decides
};
// `fusion`: those of targets::kFusionHelp, `xla` (XLA's own passes, all of them) or `xla-no-library`.
absl::StatusOr<XlaJob> PrepareXlaJob(const std::string& module, const std::string& fusion, int threads,
                                     const XlaFlags& flags, const std::atomic<bool>* cancel);

// Runs it once on these inputs, one literal a parameter.
absl::StatusOr<hlo::Literal> RunOnXla(const XlaJob& job, const std::vector<hlo::Literal>& inputs,
                                      const XlaFlags& flags);
// Times it on these inputs, in turn with XLA's own choice where `beside` is true; the outcome then has both.
absl::StatusOr<measure::Outcome> TimeOnXla(const XlaJob& job, const std::vector<hlo::Literal>& inputs,
                                           const XlaFlags& flags, double seconds, bool beside);

}  // namespace smelt::cli

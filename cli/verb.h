// A verb of the command line: its words, a working example, and what it does once its flags are read.
//
// Data goes to standard output, everything else to standard error. A verb returns an error status to end with exit code
// 1; wrong flags end with 2 before it runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace smelt::cli {

using Action = std::function<absl::Status()>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;      // shown by --help; runs from the repository root
  Action (*add)(CLI::App& app);  // declares flags and arguments
  bool limited = false;          // takes --memory-limit and --time-limit; others have budgets of their own
};

Action AddInspect(CLI::App& app);
Action AddOpt(CLI::App& app);
Action AddRun(CLI::App& app);
Action AddBench(CLI::App& app);
Action AddTune(CLI::App& app);
Action AddPredict(CLI::App& app);
Action AddRank(CLI::App& app);
Action AddProfile(CLI::App& app);
Action AddTrain(CLI::App& app);  // hands its words to the program smelt-train (training/)
Action AddEval(CLI::App& app);
Action AddFuzz(CLI::App& app);
Action AddReduce(CLI::App& app);
Action AddOpcodes(CLI::App& app);
Action AddEmbed(CLI::App& app);
Action AddCache(CLI::App& app);
// Hidden: the measuring child (tuner/measure/worker_main.h).
Action AddMeasureWorker(CLI::App& app);

// Validator of --fusion: the names that tuner::FuseProgram knows, or a file that exists.
std::string CheckFusion(const std::string& value);

// Validators of numbers; CLI11's own write the largest double out in full where one is not met.
CLI::Validator Positive();
CLI::Validator NotNegative();

// The verb has said all there is to say (a comparison that differs, for example): exit code 1 without a further
// message.
absl::Status FailedQuietly();
bool IsQuiet(const absl::Status& status);

// Reads the words, runs the action that `chosen` holds once they are read, and says on standard error why it failed.
// Returns the exit code: 0, 1 where the work failed, 2 where the words are wrong.
int Main(CLI::App& app, const Action& chosen, int argc, char** argv);

}  // namespace smelt::cli

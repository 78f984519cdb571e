// A verb of the command line: its words, a working example, and what it does once its flags are read.
//
// Data goes to standard output, everything else to standard error. The exit code is 0 where all went well, 1 where the
// work failed or standard output could not be written, 2 where the words were wrong, 3 where a program cannot be
// built or run there (Unimplemented), and 128 and the signal's number where one interrupted the work (interrupt.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace smelt::cli {

using Action = std::function<absl::Status()>;

// What a verb is for; the overview lists them so.
enum class Use : uint8_t { kLook, kTune, kMeasure, kLearn, kCheck };

struct Verb {
  std::string_view name;
  Use use;
  std::string_view summary;
  std::string_view example;      // shown by --help; runs from the repository root
  Action (*add)(CLI::App& app);  // declares flags and arguments
  bool limited = false;          // takes --memory-limit and --time-limit; others have budgets of their own
};

Action AddInspect(CLI::App& app);
Action AddOpt(CLI::App& app);
Action AddQuantize(CLI::App& app);
Action AddRun(CLI::App& app);
Action AddBench(CLI::App& app);
Action AddTune(CLI::App& app);
Action AddDb(CLI::App& app);
Action AddPredict(CLI::App& app);
Action AddRank(CLI::App& app);
Action AddProfile(CLI::App& app);
Action AddCorpus(CLI::App& app);
Action AddTrain(CLI::App& app);  // hands its words to the program smelt-train (training/)
Action AddCalibrate(CLI::App& app);
Action AddEval(CLI::App& app);
Action AddFuzz(CLI::App& app);
Action AddReduce(CLI::App& app);
Action AddOpcodes(CLI::App& app);
Action AddEmbed(CLI::App& app);
Action AddBuild(CLI::App& app);
Action AddCache(CLI::App& app);
Action AddSim(CLI::App& app);
// Hidden: the measuring child (targets/cpu/worker/worker_main.h).
Action AddMeasureWorker(CLI::App& app);

// The names of the flag for what a verb writes.
inline constexpr char kOutputFlag[] = "-o,--out,--output";

// Validators of numbers, up to 1e9; CLI11's own write the largest double out in full where one is not met.
CLI::Validator Positive();
CLI::Validator NotNegative();
// Sees to it that each flag of these that takes a number gets one: decimal, finite and within its type. CLI11 takes
// `nan`, wraps -1 to 18446744073709551615 and reads 010 as 8.
void CheckNumbers(CLI::App& app);

// An end with an exit code of its own. A message that is not empty goes to standard error.
absl::Status EndWith(int exit_code, const std::string& message);
// Words that are wrong, in a way that only the verb sees: exit code 2.
absl::Status UsageError(const std::string& message);
// The verb has said all there is to say (a comparison that differs, for example): exit code 1.
absl::Status FailedQuietly();

// Reads the words, runs the action that `chosen` holds once they are read, and says on standard error why it failed.
// Returns the exit code.
int Main(CLI::App& app, const Action& chosen, int argc, char** argv);

}  // namespace smelt::cli

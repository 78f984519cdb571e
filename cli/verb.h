// A verb of the command line: its words, a working example, and what it does once its flags are read.
//
// Data goes to standard output, everything else to standard error. The exit code is 0 where all went well, 1 where the
// work failed or standard output could not be written, 2 where the words were wrong, 3 where a program cannot be
// built or run there (Unimplemented), and 128 and the signal's number where one interrupted the work (interrupt.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cli/words/arguments.h"
#include "cli/words/command_line.h"

namespace smelt::cli {

// What a verb is for; the overview lists them so.
enum class Use : uint8_t { kLook, kTune, kMeasure, kLearn, kCheck };

struct Verb {
  std::string_view name;
  Use use;
  std::string_view summary;
  std::string_view example;             // shown by --help; runs from the repository root
  Action (*add)(Arguments& arguments);  // declares flags and words
  bool limited = false;                 // takes --memory-limit and --time-limit; others have budgets of their own
};

Action AddInspect(Arguments& arguments);
Action AddOpt(Arguments& arguments);
Action AddQuantize(Arguments& arguments);
Action AddRun(Arguments& arguments);
Action AddBench(Arguments& arguments);
Action AddTune(Arguments& arguments);
Action AddDb(Arguments& arguments);
Action AddPredict(Arguments& arguments);
Action AddRank(Arguments& arguments);
Action AddProfile(Arguments& arguments);
Action AddCorpus(Arguments& arguments);
Action AddTrain(Arguments& arguments);  // hands its words to the program smelt-train (training/)
Action AddCalibrate(Arguments& arguments);
Action AddEval(Arguments& arguments);
Action AddFuzz(Arguments& arguments);
Action AddReduce(Arguments& arguments);
Action AddOpcodes(Arguments& arguments);
Action AddEmbed(Arguments& arguments);
Action AddBuild(Arguments& arguments);
Action AddCache(Arguments& arguments);
Action AddSim(Arguments& arguments);
// Hidden: the measuring child (targets/cpu/worker/worker_main.h).
Action AddMeasureWorker(Arguments& arguments);

// The names of the flag for what a verb writes.
inline constexpr char kOutputFlag[] = "-o,--out,--output";

// An end with an exit code of its own. A message that is not empty goes to standard error.
absl::Status EndWith(int exit_code, const std::string& message);
// Words that are wrong, in a way that only the verb sees: exit code 2.
absl::Status UsageError(const std::string& message);
// The verb has said all there is to say (a comparison that differs, for example): exit code 1.
absl::Status FailedQuietly();

// Reads the words, runs the action that they ask for, and says on standard error why it failed. Returns the exit code.
int Main(CommandLine& line, int argc, char** argv);

}  // namespace smelt::cli

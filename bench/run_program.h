// The `main` of the programs of this folder: reads the words, does what they ask for, and says why it failed.
//
//   return RunProgram("moves", "Fusion moves a second under a model", declare, argc, argv);
//
// Exit status 0 where all went well, 1 where the work failed or missed its bar, 2 where the words were wrong.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/words/command_line.h"

namespace smelt::bench {

// The program has said what failed: exit status 1, and no more is said.
inline absl::Status FailedQuietly() { return absl::AbortedError(""); }

inline int RunProgram(const std::string& name, const std::string& summary, const cli::CommandLine::Declaration& declare,
                      int argc, char** argv) {
  cli::CommandLine line(name, summary, /*footer=*/"");
  line.AddWords(declare);
  const cli::CommandLine::Choice choice = line.Read(std::vector<std::string>(argv + 1, argv + argc));
  if (choice.action == nullptr) return choice.exit_code;
  const absl::Status status = choice.action();
  if (!status.message().empty()) std::fprintf(stderr, "%s: %s\n", name.c_str(), std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace smelt::bench

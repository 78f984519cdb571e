// What a user allows a verb to take: --memory-limit and --time-limit. Beyond either the tool says so in one line and
// ends with exit code 1; files that it was writing are then as they were before.
//
//   auto limits = std::make_shared<Limits>();
//   AddLimits(arguments, *limits);
//   ...
//   Impose(*limits, "run");   // once, before the work
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/words/arguments.h"

namespace smelt::cli {

struct Limits {
  uint64_t memory_bytes = 0;  // of the process's own memory, mapped code and files aside; 0: what the machine has
  double seconds = 0;         // of wall-clock time; 0: no limit
};

void AddLimits(Arguments& arguments, Limits& limits);

// From now on. Memory: what says where it needs too much says so itself (the evaluator names the instruction); any
// other allocation that fails ends the process. Also without a limit, running out of memory is an error and no abort.
void Impose(const Limits& limits, std::string_view verb);

}  // namespace smelt::cli

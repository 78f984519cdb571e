// A signal as a question that long work asks, instead of an end.
#pragma once

#include <atomic>
#include <string_view>

#include "absl/status/status.h"

namespace smelt::cli {

// While one lives, the first SIGINT (Ctrl-C), SIGTERM (a batch system) or SIGHUP (a terminal that goes away) only sets
// a flag; a second ends the process as usual. SIGHUP counts as SIGTERM, and stays ignored under nohup.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  bool Requested() const;
  const std::atomic<bool>* flag() const;

  // What an interrupted verb ends with: a line that says so and what was kept, and exit code 128 and the signal's
  // number (130: SIGINT, 143: SIGTERM). Ok where nothing was requested.
  static absl::Status End(std::string_view kept);
  // The signal that was requested, SIGHUP as SIGTERM; 0: none.
  static int Signal();
};

}  // namespace smelt::cli

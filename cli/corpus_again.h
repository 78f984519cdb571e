// smelt corpus again: kernels of a corpus timed once more, into another.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "cli/target.h"
#include "cli/words/arguments.h"

namespace smelt::cli {

struct AgainFlags {
  double share = 1;
  bool changed = false;
  int visits = 1;
  uint64_t seed = 1;
  std::string cache;
  TargetFlags target;
};

void AddAgainFlags(Arguments& arguments, AgainFlags* flags);
absl::Status ProfileAgain(const std::string& corpus, const std::string& output, const AgainFlags& flags, bool json);

}  // namespace smelt::cli

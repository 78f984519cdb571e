// How busy the cores of this machine are, and which neighbours among them are the least so.
//
//   std::vector<CoreLoad> cores = LookAtCores(0.04).value();
//   std::vector<int> quiet = QuietestCores(cores, 2);   // {62, 63}
//
// Read from Linux: /proc/stat twice, and the topology in sysfs for which logical cores share a physical one.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"

namespace smelt::measure {

struct CoreLoad {
  int cpu = 0;                // its number
  double busy = 0;            // share of the time, stolen time and interrupts included; more: somebody's own
  std::vector<int> siblings;  // other logical cores of the same physical one
};

// The cores that this process may run on, in order. Unavailable where the system does not tell which these are; of
// what it does not tell of one, the core is idle and has no sibling. Takes `seconds`.
absl::StatusOr<std::vector<CoreLoad>> LookAtCores(double seconds, const std::filesystem::path& proc = "/proc",
                                                  const std::filesystem::path& sys = "/sys/devices/system/cpu");

// The numbers of `count` of them that follow each other, since distant ones may be of another socket, with least to do
// in all; the last of several such, since the first cores serve most interrupts. Half of what a sibling does counts.
// Empty: there are not so many.
std::vector<int> QuietestCores(const std::vector<CoreLoad>& cores, int count);

}  // namespace smelt::measure

#include "cli/target.h"

#include <sched.h>

#include <cstdio>

#include "base/status_macros.h"
#include "cli/verb.h"
#include "targets/cpu/detect.h"

namespace smelt::cli {
namespace {

// Those that this process may run on.
int Cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

absl::StatusOr<cpu::Target> ReadTarget(const std::string& words) {
  absl::StatusOr<cpu::Target> target = cpu::ParseTarget(words);
  if (!target.ok()) return UsageError(std::string(target.status().message()));
  return target;
}

absl::StatusOr<cpu::Target> ReadTargetToRun(const std::string& words) {
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, ReadTarget(words));
  WarnOfThreads(target.threads);
  return target;
}

void WarnOfThreads(int threads) {
  const int cores = Cores();
  if (cores == 0 || threads <= cores) return;
  std::fprintf(stderr, "%d threads on %d %s wait for each other: expect slow and noisy runs\n", threads, cores,
               cores == 1 ? "core" : "cores");
}

}  // namespace smelt::cli

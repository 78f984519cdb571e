#include "cli/target.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "machine/target_id.h"
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

void AddTargetFlags(CLI::App& app, TargetFlags* flags, const std::string& help) {
  app.add_option("--target", flags->words, help)->capture_default_str();
  app.add_option("--threads", flags->threads, "Threads of one kernel, as --target=cpu:threads=N says too; 1 by default")
      ->check(CLI::Range(1, 1024));
}

absl::StatusOr<machine::TargetId> ReadTargetId(const TargetFlags& flags) {
  if (IsXlaTarget(flags.words)) {
    SMELT_RETURN_IF_ERROR(XlaThreads(flags.words).status());
  } else {
    SMELT_RETURN_IF_ERROR(ReadTarget(flags.words).status());
  }
  machine::TargetId id = machine::TargetId::Parse(flags.words);
  if (id.threads > 0 && flags.threads > 0 && id.threads != flags.threads) {
    return UsageError(absl::StrCat("--target=", flags.words, " and --threads=", flags.threads,
                                   " say different numbers of threads; give one of them"));
  }
  id.threads = std::max({id.threads, flags.threads, 1});
  return id;
}

}  // namespace smelt::cli

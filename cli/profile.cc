// smelt profile: modules in, a corpus of timed kernels out.
#include "tuner/profile.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "nlohmann/json.hpp"

namespace smelt::cli {
namespace {

struct ProfileFlags {
  std::vector<std::string> modules;
  tuner::ProfileOptions profile;
  std::string task = "fusion", shard, cache;
  bool json = false;
  TargetFlags target;
};

absl::Status Profile(ProfileFlags& flags) {
  Interrupt interrupt;
  tuner::ProfileOptions& options = flags.profile;
  options.task = flags.task == "tile" ? tuner::ProfileTask::kTile : tuner::ProfileTask::kFusion;
  if (!flags.shard.empty()) {
    const size_t slash = flags.shard.find('/');
    if (slash == std::string::npos || !absl::SimpleAtoi(flags.shard.substr(0, slash), &options.shard) ||
        !absl::SimpleAtoi(flags.shard.substr(slash + 1), &options.shards) || options.shards < 1 || options.shard < 0 ||
        options.shard >= options.shards) {
      return UsageError(absl::StrCat("--shard=", flags.shard, ": expected I/N with 0 <= I < N, for example 0/4"));
    }
  }
  options.cancel = interrupt.flag();
  SMELT_ASSIGN_OR_RETURN(
      const std::unique_ptr<targets::Target> target,
      OpenTarget(flags.target, {.cache_folder = flags.cache.empty() ? DefaultCacheFolder() : flags.cache,
                                .cancel = interrupt.flag()}));
  std::optional<tuner::Progress> line(std::in_place);
  options.progress = &*line;
  SMELT_ASSIGN_OR_RETURN(const tuner::ProfileReport report, tuner::Profile(flags.modules, *target, options));
  line.reset();
  for (const std::string& refused : report.refused) std::fprintf(stderr, "left out %s\n", refused.c_str());
  if (report.left_out > 0) {
    std::fprintf(stderr, "%ld kernels could not be timed, the last for this: %s; the same command times them\n",
                 report.left_out, report.why_left_out.c_str());
  }
  if (flags.json) {
    PrintJson({{"corpus", options.output},
               {"programs", report.programs},
               {"kernels", report.kernels},
               {"known", report.known},
               {"visits", report.visits},
               {"unsteady", report.unsteady},
               {"failed", report.failed},
               {"skipped", report.skipped},
               {"refused", report.refused},
               {"seconds", report.seconds},
               {"floor_us", 1e6 * report.floor_seconds},
               {"interrupted", report.interrupted}});
  } else {
    std::printf(
        "%s: %ld kernels of %ld programs timed in %.0f s (%ld were known, %ld failed and are recorded, %ld too "
        "large); %ld of %ld visits in a spell\n",
        options.output.c_str(), report.kernels, report.programs, report.seconds, report.known, report.failed,
        report.skipped, report.unsteady, report.visits);
    if (report.floor_seconds > 0) {
      std::printf("an empty kernel takes %.2f us: times that are little above say little\n",
                  1e6 * report.floor_seconds);
    }
  }
  return Interrupt::End(absl::StrCat(options.output, " has what was timed; the same command goes on from there"));
}

}  // namespace

Action AddProfile(Arguments& arguments) {
  auto flags = std::make_shared<ProfileFlags>();
  tuner::ProfileOptions& options = flags->profile;
  arguments.Add("MODULES", flags->modules, "HLO texts").Required();
  arguments.Add(kOutputFlag, options.output, "Corpus folder; continued when it exists").Required();
  arguments
      .Add("--task", flags->task, "fusion: kernels of many configurations; tile: many tiles of the default's kernels")
      .OneOf({"fusion", "tile"})
      .ShowsDefault();
  arguments.Add("--configs", options.configurations, "Random configurations of each program")
      .Between(0, 1000000)
      .ShowsDefault();
  arguments.Add("--kernels", options.kernels_per_program, "At most so many kernels of each program: a sample of all")
      .Between(1, 100000000)
      .ShowsDefault();
  arguments.Add("--variants", options.variants, "Share of them in other sizes than the program's")
      .Between(0.0, 0.9)
      .ShowsDefault();
  arguments.Add("--visits", options.visits, "Visits to each kernel, each in a process of its own")
      .Between(1, 100)
      .ShowsDefault();
  arguments.Add("--tiles", options.tiles, "Tiles of each kernel").Between(2, 500000).ShowsDefault();
  arguments.Add("--seconds-per-program", options.seconds_per_program, "No further kernel of a program after so long")
      .Positive()
      .ShowsDefault();
  arguments.Add("--repeats", options.policy.repeats, "Samples of each kernel").Between(3, 1000).ShowsDefault();
  arguments.Add("--seed", options.seed, "Seed of the configurations").ShowsDefault();
  arguments.Add("--shard", flags->shard, "I/N: only every N-th program, beginning with the I-th");
  AddTargetFlags(arguments, &flags->target);
  arguments.Add("--cache", flags->cache, "Kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  arguments.AddFlag("--json", flags->json, "Machine-readable summary on standard output");
  return [flags] { return Profile(*flags); };
}

}  // namespace smelt::cli

#include "cli/corpus_again.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "nlohmann/json.hpp"
#include "tuner/profile.h"

namespace smelt::cli {

void AddAgainFlags(Arguments& arguments, AgainFlags* flags) {
  arguments.Add("--share", flags->share, "again: share of the kernels, drawn by the seed")
      .Between(0.0, 1.0)
      .ShowsDefault();
  arguments.AddFlag("--changed", flags->changed,
                    "again: only kernels whose default schedule is another now than when they were timed");
  arguments.Add("--visits", flags->visits, "again: visits to each kernel").Between(1, 100).ShowsDefault();
  arguments.Add("--cache", flags->cache, "again: kernel cache folder; by default $SMELT_CACHE or ~/.cache/smelt");
  AddTargetFlags(arguments, &flags->target);
}

absl::Status ProfileAgain(const std::string& corpus, const std::string& output, const AgainFlags& flags, bool json) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(
      const std::unique_ptr<targets::Target> target,
      OpenTarget(flags.target, {.cache_folder = flags.cache.empty() ? DefaultCacheFolder() : flags.cache,
                                .cancel = interrupt.flag()}));
  tuner::ProfileOptions options{.output = output, .visits = flags.visits, .seed = flags.seed};
  options.cancel = interrupt.flag();
  std::optional<tuner::Progress> line(std::in_place);
  options.progress = &*line;
  SMELT_ASSIGN_OR_RETURN(
      const tuner::ProfileReport report,
      tuner::ProfileAgain(corpus, {.share = flags.share, .changed = flags.changed}, *target, options));
  line.reset();
  if (json) {
    PrintJson({{"corpus", output},
               {"kernels", report.kernels},
               {"visits", report.visits},
               {"unsteady", report.unsteady},
               {"failed", report.failed},
               {"seconds", report.seconds},
               {"interrupted", report.interrupted}});
  } else {
    std::printf("%s: %ld kernels of %s timed again in %.0f s, %ld of %ld visits in a spell\n", output.c_str(),
                report.kernels, corpus.c_str(), report.seconds, report.unsteady, report.visits);
    std::printf("smelt corpus stats %s %s compares the two\n", corpus.c_str(), output.c_str());
  }
  return Interrupt::End(absl::StrCat(output, " has what was timed; the same command goes on from there"));
}

}  // namespace smelt::cli

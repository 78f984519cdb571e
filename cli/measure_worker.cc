// smelt measure-worker: the child that compiles and times candidates; see measure/worker_process.h.
#include <cstdlib>
#include <memory>

#include "cli/verb.h"
#include "machine/target_id.h"
#include "targets/registry.h"

namespace smelt::cli {

Action AddMeasureWorker(Arguments& arguments) {
  struct Flags {
    std::string target = "cpu", cache;
  };
  auto flags = std::make_shared<Flags>();
  arguments.Add("--target", flags->target);
  arguments.Add("--cache", flags->cache);
  return [flags]() -> absl::Status {
    const auto kind = targets::Kinds().find(machine::TargetId::Parse(flags->target).kind);
    if (kind == targets::Kinds().end() || kind->second.serve == nullptr)
      return UsageError("measure-worker: --target=" + flags->target + " has no such child");
    std::exit(kind->second.serve(flags->target, flags->cache));
  };
}

}  // namespace smelt::cli

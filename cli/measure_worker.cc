// smelt measure-worker: the child that compiles and times candidates; see measure/worker_process.h.
#include <cstdlib>
#include <memory>

#include "cli/verb.h"
#include "targets/cpu/worker/worker_main.h"

namespace smelt::cli {

Action AddMeasureWorker(CLI::App& app) {
  struct Flags {
    std::string target = "cpu", cache;
    int cpu = -1;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("--target", flags->target);
  app.add_option("--cache", flags->cache);
  app.add_option("--cpu", flags->cpu);
  return [flags]() -> absl::Status { std::exit(cpu::WorkerMain(flags->target, flags->cache, flags->cpu)); };
}

}  // namespace smelt::cli

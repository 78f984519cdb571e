#include "cli/stablehlo.h"

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "measure/worker_process.h"
#include "targets/xla/python.h"
#include "targets/xla/stablehlo.h"

namespace smelt::cli {

absl::StatusOr<std::string> ModuleFile(const std::string& module, const std::string& python) {
  if (!xla::IsStableHlo(module)) return module;
  constexpr double kConversionSeconds = 300;
  absl::StatusOr<measure::WorkerOptions> worker = xla::FindXlaWorker({.python = python});
  if (!worker.ok()) {
    return absl::Status(worker.status().code(),
                        absl::StrCat(module, ": is StableHLO: ", std::string(worker.status().message())));
  }
  worker->cache_folder = DefaultCacheFolder();
  return xla::HloOfStableHlo(module, *worker, kConversionSeconds);
}

}  // namespace smelt::cli

// --target=cpu: our own kernels on this CPU, as the search, the profiler and the verbs see them.
//
//   std::unique_ptr<targets::Target> own = cpu::OwnKernels(cpu::DetectTarget(), {.cache_folder = folder});
//   std::unique_ptr<targets::Tunable> tunable = own->Open("model.hlo", "priority").value();
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "fusion/rules.h"
#include "measure/worker_process.h"
#include "targets/cpu/codegen/target.h"
#include "targets/target.h"

namespace smelt::cpu {

struct OwnKernelsOptions {
  std::string program;       // of the measuring child; empty: this one
  std::string cache_folder;  // of compiled kernels; empty: in memory only
  double start_seconds = 60;
  int64_t memory_bytes = measure::WorkerOptions().memory_limit_bytes;
  const std::atomic<bool>* cancel = nullptr;
  // Others than ours where fusions have to be such as another compiler takes as well.
  fusion::Rules rules = fusion::Rules::OwnKernels();
  targets::Simplify simplify = targets::Simplify::kYes;
};

std::unique_ptr<targets::Target> OwnKernels(Target target, OwnKernelsOptions options);

}  // namespace smelt::cpu

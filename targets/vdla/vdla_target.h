// VDLA as a target: int8 layers of a quantised program on the accelerator, everything else on its host.
//
//   std::unique_ptr<targets::Target> target = VdlaTarget(config, {.program = tool});
//
// Fusions follow what one program of the accelerator can do (layer.h); a fusion that it cannot run as a layer costs
// what the host would take. Knobs of a kernel are its schedules. Times are simulated (device.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "gnn/features/features.h"
#include "targets/target.h"
#include "vdla/isa/config.h"

namespace smelt::vdla {

struct VdlaOptions {
  std::string machine = "pynq";  // as the user named it: a built-in name or a file
  bool cycle = false;            // results by the cycle simulator too
  std::string program;           // of the measuring child; empty: this one
  std::string cache_folder;      // of the host's code
  double start_seconds = 60;
  int64_t memory_bytes = 0;  // that a child may take
  const std::atomic<bool>* cancel = nullptr;
};

std::unique_ptr<targets::Target> VdlaTarget(isa::Config config, VdlaOptions options);
// What a kernel takes by the formulas of its schedules and of the host: among the features of models of such kernels.
gnn::KernelEstimate VdlaEstimate(isa::Config config);

}  // namespace smelt::vdla

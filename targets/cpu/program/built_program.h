// A program as it is built, before its kernels are compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "fusion/kernel.h"
#include "hlo/shape.h"
#include "runtime/program.h"
#include "targets/cpu/program/native_plan.h"

namespace smelt::cpu {

// One executed instruction that is a kernel, an opaque operation or an update in place.
struct KernelSite {
  std::string name;
  std::string computation;
  int32_t job = -1;  // -1: only updates in place
  Hash128 hash;
  double flops = 0;  // transcendental functions count one
  double bytes = 0;
};

struct BuiltProgram {
  runtime::Program program;
  std::vector<hlo::Shape> inputs;                         // array leaves of the parameters
  std::vector<hlo::Shape> outputs;                        // array leaves of the result
  std::vector<KernelSite> sites;                          // Step::info counts these
  std::vector<fusion::Kernel> jobs;                       // distinct kernels; Step::job counts these
  absl::flat_hash_map<int32_t, std::string> opaque_jobs;  // those not to be compiled, and why
  absl::flat_hash_map<int32_t, NativePlan> native_jobs;
};

}  // namespace smelt::cpu

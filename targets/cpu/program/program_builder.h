// From a fused module to a program: which instructions run as kernels, and the buffers that values live in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "hlo/module.h"
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

// What the program does for an instruction of this opcode where it is not simply a kernel ("inlined"); empty where it
// is one, or has no compiled form (fusion::IsKernel).
std::string_view WithoutKernel(hlo::Opcode opcode);

// Tuples, get-tuple-element, reshape, bitcast and copy are other names of the same buffer. A while keeps its state in
// buffers of its own, one a leaf: leaves that the body passes through unchanged stay where they are. Calls are inlined.
// Parameters that are marked as known (hlo/known/known_parameters.h) become inputs that are.
// Asynchronous operations are done where they start. Arrays whose size is known only at run time: see
// runtime_size_region.h. Errors: Unimplemented, naming the instruction, for transfers;
// ResourceExhausted where inlining would make a program of more than four million steps or 256 levels.
absl::StatusOr<BuiltProgram> BuildProgram(const hlo::Module& module);

}  // namespace smelt::cpu

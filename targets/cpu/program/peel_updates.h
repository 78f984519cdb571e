// Takes the slice updates off the end of a kernel, so that the executor makes them in place.
//
// A fused dynamic-update-slice whose result is an output of the kernel would copy the whole array to change one slice
// of it, in every iteration of a loop that fills an array row by row. Peeled, the kernel computes the slice alone:
//
//   kernel:  tuple(dynamic-update-slice(p0, f(p1), g(p2), 0), h(p1))
//   after:   kernel tuple(f(p1), h(p1)); kernel g(p2); p0 changed in place at (g(p2), 0)
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"

namespace smelt::cpu {

// Where a value comes from once the updates are gone.
struct PeeledValue {
  enum class Source : uint8_t { kParameter, kConstant, kCompute, kIndex };
  Source source = Source::kParameter;
  int64_t number = 0;                          // of the parameter, or of the output of the compute or index kernel
  const hlo::Instruction* constant = nullptr;  // kConstant: lives in the peeled kernel's module
};

// One output of the kernel as it was.
struct PeeledOutput {
  PeeledValue value;                         // of the whole output, or of the slice
  const hlo::Instruction* update = nullptr;  // the dynamic-update-slice; null for an output that is none
  int64_t array = 0;                         // parameter that is updated
  std::vector<PeeledValue> starts;
};

struct PeeledKernel {
  std::vector<PeeledOutput> outputs;
  // Their `operands` are parameters of the kernel as it was. Absent where nothing is left to compute.
  std::optional<fusion::Kernel> compute;
  std::optional<fusion::Kernel> index;  // scalars
};

// Nothing when no output is an update of a parameter.
absl::StatusOr<std::optional<PeeledKernel>> PeelSliceUpdates(const fusion::Kernel& kernel);

}  // namespace smelt::cpu

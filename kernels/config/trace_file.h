// Schedules as files: traces of primitives, each with the kernel that it was made for.
//
//   std::string text = PrintTraces({{hash, "fusion.3", "cpu:znver4,threads=2", schedule.ToString()}});
//   std::vector<KernelTrace> traces = ParseTraces(text, "resnet.schedule").value();
//
// The format, line by line (`#` starts a comment line):
//
//   smelt schedule 1                          the version
//   kernel 5f1c...  fusion.3                  the kernel's canonical hash, its name for people
//   target cpu:znver4,threads=2               for which it was made; nothing depends on it
//   algorithm winograd4                       of a convolution that is not the direct sum
//   split c i0 8 guard                        Schedule::ToString, a step a line
//   ...
//   end 12 88ab0f1c22d49e07                   how many steps there are, and a hash of them: a torn file lacks it
//
// A file that was written by hand ends its traces with `end any`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/hash.h"

namespace smelt::kernels::config {

inline constexpr int kTraceVersion = 1;

struct KernelTrace {
  Hash128 kernel;              // fusion::Kernel::hash
  std::string name;            // of the kernel, where it was read
  std::string target;          // machine::TargetId as text
  std::string steps;           // Schedule::ToString
  std::string algorithm = {};  // te::AlgorithmName of the graph that the steps are of; empty: the direct sum
  bool operator==(const KernelTrace&) const = default;
};

std::string PrintTraces(absl::Span<const KernelTrace> traces);

// `file` stands in errors. InvalidArgument naming file and line: no such file, another version, a torn trace, steps
// that were changed without their hash (`end any` takes them), a kernel that stands twice.
absl::StatusOr<std::vector<KernelTrace>> ParseTraces(std::string_view text, std::string_view file);

}  // namespace smelt::kernels::config

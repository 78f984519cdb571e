// Which CPU code is made for: the one at hand, or another by name.
//
//   cpu::Target target = cpu::DetectTarget();   // peaks measured once and kept in the cache folder
//   auto other = cpu::ParseTarget("cpu:znver4,threads=2");
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "machine/target_id.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu {

// "cpu", "cpu:threads=N" or "cpu:CPU,threads=N" with LLVM's name of the CPU; the CPU at hand is detected.
// InvalidArgument otherwise.
absl::StatusOr<Target> ParseTarget(std::string_view text);
// The same of a name that was read: of its CPU and threads, whatever its kind is.
absl::StatusOr<Target> TargetOf(const machine::TargetId& id);
// The CPU at hand, with the processors that this process may use, and with AMX where Linux grants it on asking;
// `measure` runs micro-benchmarks (about a second) unless the cache folder has this machine's figures.
Target DetectTarget(bool measure = true);

}  // namespace smelt::cpu

// Whether this machine can run the code for a target.
//
//   absl::Status status = RunsHere(target, /*uses_tiles=*/false);   // of cpu:neoverse-n1, on x86-64, FailedPrecondition
#pragma once

#include "absl/status/status.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu {

// FailedPrecondition: the target is of another architecture, or its code may use instructions that this processor
// lacks, or, where it uses them, tiles that Linux does not grant. Says which. Thread-safe; remembered by target.
absl::Status RunsHere(const Target& target, bool uses_tiles);

}  // namespace smelt::cpu

// Programs that come as StableHLO: MLIR text (.mlir), its bytecode (.mlirbc, whatever version it says), and what
// jax.export serializes.
//
//   if (IsStableHlo(path)) {
//     SMELT_ASSIGN_OR_RETURN(path, HloOfStableHlo(path, worker, 120));
//   }
//
// XLA's own front end converts them, in a Python child with jaxlib (python.h): a file that crashes it is an error here.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "measure/worker_process.h"

namespace smelt::xla {

// What decides is its extension (.mlir, .mlirbc, .stablehlo, .jax_export), or the first bytes of MLIR bytecode.
bool IsStableHlo(const std::string& path);

// Path of a proto of the same program in the worker's cache folder, which keeps it under a hash of the file's content.
// InvalidArgument: XLA's front end refuses it, with what it says. Aborted, DeadlineExceeded: the child died, or took
// too long.
absl::StatusOr<std::string> HloOfStableHlo(const std::string& path, const measure::WorkerOptions& worker,
                                           double timeout_seconds);

}  // namespace smelt::xla

// A machine as JSON: how a corpus, a model and a caller's own compiler say what runs the code.
//
//   std::string text = DescribeMachine(machine);
//   absl::StatusOr<Machine> same = ReadMachine(text);
//
//   {"name": "mychip", "threads": 1, "vector_bytes": 32, "vector_registers": 16,
//    "instructions": ["avx2"], "peak_flops_f32": 5e10,
//    "launch_seconds": 1e-7, "fork_seconds": 4e-6,
//    "levels": [{"scope": "l1", "bytes": 32768, "bytes_per_second": 1e11}, {"scope": "l2", ...},
//               {"scope": "memory", "bytes_per_second": 1e10}]}
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "machine/machine.h"

namespace smelt::machine {

// One line.
std::string DescribeMachine(const Machine& machine);

// What is left out is an ordinary machine's, except that the last level holds everything and vectors go at the peak.
// InvalidArgument names the field: one that is unknown, has another type, is not above 0; fewer than two levels, or one
// that holds less than the level before it.
absl::StatusOr<Machine> ReadMachine(std::string_view text);

}  // namespace smelt::machine

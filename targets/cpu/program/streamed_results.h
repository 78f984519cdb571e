// Which results the kernels of a program write past the caches.
//
//   adam updates 100 MB of weights, which the program gives back: streamed
//   a hidden layer, which the next kernel reads; a result of a program whose arrays all fit into the caches: not
//
// A kernel alone has them by its distances (kernels::cost::StreamedResults).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "machine/machine.h"
#include "targets/cpu/program/built_program.h"

namespace smelt::cpu {

// The array leaves of each distinct kernel's result, by number, that are streamed wherever it runs: the program copies
// them to its own results and does nothing else with them, and not in a loop. Before copies are coalesced.
// `distances`: of a program of one kernel, ExecutableOptions::distances; they decide alone.
std::vector<std::vector<int64_t>> StreamedResults(const BuiltProgram& built, absl::Span<const int64_t> distances,
                                                  const machine::Machine& target);

}  // namespace smelt::cpu

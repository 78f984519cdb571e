// Lowers a schedule to the loop IR.
//
//   ir::Function f = Lower(schedule, {.name = "kernel", .vector_bytes = 64}).value();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/pass.h"
#include "kernels/schedule/schedule.h"

namespace smelt::kernels::lower {

// The passes of a machine with vectors whose threads share one memory, after LowerToLoops: the default of LowerOptions.
Pipeline VectorPipeline();

struct LowerOptions {
  std::string name = "kernel";
  int vector_bytes = 64;                 // widest vector of the target
  int64_t unroll_limit = 4096;           // statements; beyond it a loop marked unrolled stays a loop
  std::vector<int64_t> streamed = {};    // results, by number, whose stores go past the caches (lower/streaming.h)
  std::string* dump = nullptr;           // where given, receives the IR and time after every pass
  Pipeline pipeline = VectorPipeline();  // of the target
};

// Fails (InvalidArgument) when the schedule cannot be lowered: a region that cannot be bounded, a buffer beyond the
// capacity of its memory.
absl::StatusOr<ir::Function> Lower(const schedule::Schedule& schedule, const LowerOptions& options);

// The first part alone: loops as the schedule has them, indices by dimension, conditions where they stand. It is what a
// cost model reads its features from and what a target with a lowering of its own begins with: BindRanges makes a
// simplifier for it. Takes a small share of Lower's time.
absl::StatusOr<ir::Function> LowerToLoops(const schedule::Schedule& schedule, const LowerOptions& options);

}  // namespace smelt::kernels::lower

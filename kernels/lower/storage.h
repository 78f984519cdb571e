// Scratch memory: stores to buffers that nothing reads go, with the buffers, and neighbours whose lives do not overlap
// share one.
//
//   thread f32 p[8];  thread f32 q[4];  p = ...; c = p + 1; q = ...; d = q + c;      before
//   thread f32 p[8];  p = ...; c = p + 1; p = ...; d = p + c;                        after
//
// Only memory that code generation lays out (Allocator::kWorker) is shared. After unroll and simplify, when it is known
// what is read. Linear in the function for each chain of dead buffers. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> ReuseStorage(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower

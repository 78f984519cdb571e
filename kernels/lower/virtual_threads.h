// Virtual threads become one stream of statements in which they take turns.
//
//   vthread (t < 2) { local f32 s[4];  for (k < 8) s[t + k] = ...;  c[t] = s[0]; }      before
//   local f32 s[2, 4];  for (k < 8) { s[0, 0 + k] = ...;  s[1, 1 + k] = ...; }          after
//   c[0] = s[0, 0];  c[1] = s[1, 0];                                                    and then
//
// What one thread waits for, another fills: loads of one overlap arithmetic of the other. Loops whose bounds do not
// depend on the thread are shared, scratch of a thread becomes scratch of all, with the thread as its first index. More
// than 16 threads stay a loop around each statement. After TVM's InjectVirtualThread (Chen et al., OSDI 2018, Section
// 4.4). Before pipelines are built. InvalidArgument: scratch beyond the capacity of its memory.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> InterleaveVirtualThreads(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower

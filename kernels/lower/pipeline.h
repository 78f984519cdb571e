// Software pipelines: the parts of a loop's body run for different iterations at once.
//
//   for (i < 8) { thread f32 p[4];  step 0: p[..] = a[i ..];  step 1: c[i] = p[0]; }                 before
//   thread f32 p[2, 4];                                                                            after
//   for (i < 9) { if (i < 8) p[i % 2, ..] = a[i ..];   if (i >= 1) c[i - 1] = p[(i - 1) % 2, 0]; }
//
// A part at step s does iteration i - s. What one part stores and a later step reads is kept as often as there are
// steps between them, and one more. The conditions at both ends are partition's to cut off: what is left is a
// beginning, a steady part and an end. Double buffers are the pipelines of two steps. After virtual threads, before
// partition. InvalidArgument, naming what is stored: a part that would run before what it reads; storage beyond the
// capacity.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> PipelineLoops(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower

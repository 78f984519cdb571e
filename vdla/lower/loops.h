// From the loop IR to operations of VDLA: the other way, beside convolution.h, to make the tree that emit.h runs.
//
//   kernels::ir::Function function = kernel;              // of LowerToLoops, stages in the scopes of Memories(config)
//   Operations operations = OperationsOf(function, config).value();
//
// Loops around several statements stay loops, those bound to virtual threads are threads, allocations in `inp`, `wgt`
// and `acc` become buffers on the chip, arguments and scratch become segments of DRAM, and each nest of loops around
// one store becomes the operation that it is (nest.h). A reset in front of the sum that follows it goes: the first
// product takes its place. A stage of the epilogue takes over the tile of the stage before where nothing else reads
// that, so that the ALU works in place. What `double_buffer` or `pipeline` overlaps gets copies that iterations take in
// turn; the units run ahead by themselves.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"
#include "vdla/isa/config.h"
#include "vdla/lower/operations.h"

namespace smelt::vdla::lower {

// InvalidArgument: a statement or nest that VDLA cannot do, with the reason; an annotation that it has nothing for
// (prefetch, storage_align, an order of a pipeline's parts).
absl::StatusOr<Operations> OperationsOf(const kernels::ir::Function& function, const isa::Config& config);

}  // namespace smelt::vdla::lower

// From operations to a program: loops are unrolled, boxes become LOADs and STOREs, work becomes GEMMs and ALU
// instructions with their micro-ops, tokens keep the order.
//
//   Emitted emitted = Emit(operations, isa::Config::Named("pynq").value()).value();
//   size_t instructions = emitted.program.instructions.size();
//
// VDLA has no branches, so a walker runs the tree: every index is a number, every dependence exact. Inside virtual
// threads the operations of a body that stand beside each other and run on one unit are a leaf: thread after thread
// runs it, before any thread goes on (loops around a leaf are shared). The tokens let the units drift apart from there.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "vdla/isa/config.h"
#include "vdla/isa/program.h"
#include "vdla/lower/operations.h"
#include "vdla/lower/tokens.h"

namespace smelt::vdla::lower {

struct Emitted {
  isa::Program program;  // one segment for each DRAM buffer, by its name, and `micro_ops`
  MicroOpImage image;
  int64_t gemm_micro_ops = 0, alu_micro_ops = 0;  // that the program executes: cycles at the peak
  int64_t dram_bytes = 0;                         // that LOADs and STOREs move
  int64_t tokens = 0;
};

// ResourceExhausted: a memory is too small, with the buffer's name and bytes. InvalidArgument: an index outside its
// buffer, a copy that no instruction can do, operations that do not agree with their memories.
absl::StatusOr<Emitted> Emit(const Operations& operations, const isa::Config& config);

}  // namespace smelt::vdla::lower

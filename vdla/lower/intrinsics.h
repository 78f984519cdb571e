// The GEMM unit as calls of the loop IR: what a schedule's `tensorize` puts in the place of the loops over lanes.
//
//   GemmIntrinsics gemm = GemmIntrinsicsOf(config);     // of blocks of batch x block_out x block_in
//   te::Graph matched = gemm.declaration;               // out(b, n) = sum over k of s32(inp(b, k)) * s32(wgt(n, k))
//   te::Expr one = te::Call(gemm.update, {te::AddressOf(acc, {0}), te::AddressOf(inp, {0}), te::AddressOf(wgt, {0})});
//
// Addresses are those of the first lane of an element. The interpreter runs the calls; loops.h makes GEMMs of them.
// A schedule puts them in the place of loops by tensorize with GemmInstruction (Section 4.3 of the TVM paper).
#pragma once

#include "kernels/schedule/tensor_intrinsic.h"
#include "kernels/te/intrinsic.h"
#include "kernels/te/tensor.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::lower {

namespace te = kernels::te;

struct GemmIntrinsics {
  te::Graph declaration;    // inputs inp and wgt, output out: the product of one micro-op
  te::IntrinsicRef reset;   // (&out): out = 0
  te::IntrinsicRef update;  // (&out, &inp, &wgt): out += product
  te::IntrinsicRef full;    // (&out, &inp, &wgt): out = product
};
GemmIntrinsics GemmIntrinsicsOf(const isa::Config& config);

// The same as an instruction that a schedule's tensorize knows as `vdla_gemm`, with its three bodies; operands must lie
// in `inp`, `wgt` and `acc`, elements one behind the other as the machine has them.
kernels::schedule::TensorIntrinsicRef GemmInstruction(const isa::Config& config);

// What a call does; by its name. `is_gemm` is false for any other call.
struct GemmCall {
  bool is_gemm = false, resets = false, multiplies = false;
};
GemmCall GemmCallOf(const te::Intrinsic& intrinsic);

}  // namespace smelt::vdla::lower

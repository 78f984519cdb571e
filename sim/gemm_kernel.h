// The products of micro-ops of GEMM, as fast as this CPU can: acc[b][n] += sum_k inp[b][k] * wgt[n][k].
//
//   GemmKernel kernel = BestGemmKernel(/*block_out=*/16);
//   kernel(acc, inp, wgt, {{.acc = 0, .inp = 0, .wgt = 0}}, {.batch = 1, .block_in = 16, .block_out = 16});
//
// Lanes are 16 bits, and those of two neighbouring k lie side by side in a weight, since processors multiply and add
// such pairs in one instruction (vpmaddwd). All kernels give the same bits: products of int8 never overflow a pair's
// sum.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace smelt::sim {

struct GemmBlock {
  int64_t batch, block_in, block_out;
};

// Lanes of a row of inputs: block_in, and one of zero where it is odd.
constexpr int64_t PairedLanes(int64_t block_in) { return (block_in + 1) / 2 * 2; }
// Where weight (n, k) lies in an element.
constexpr int64_t PairedWeight(int64_t n, int64_t k, int64_t block_out) { return (k / 2 * block_out + n) * 2 + k % 2; }

// Where the operands of a micro-op begin, in lanes from the pointers that a kernel is given.
struct GemmStep {
  int64_t acc, inp, wgt;
};

// One step after the other.
using GemmKernel = void (*)(int32_t* acc, const int16_t* inp, const int16_t* wgt, absl::Span<const GemmStep> steps,
                            const GemmBlock& block);
// The widest that this CPU has and that divides block_out.
GemmKernel BestGemmKernel(int64_t block_out);
// All that this CPU can run for block_out, the plain one first: they are tested against each other.
std::vector<GemmKernel> GemmKernels(int64_t block_out);

}  // namespace smelt::sim

// Loads of a loop that read columns one after the other: in as many rounds as a vector has lanes, these are a square
// block, whose rows lie in memory side by side. Read by rows and transposed in registers, each line of the caches is
// touched once, and no lane is loaded alone.
//
//   for (i = 0; i < 64; ++i) out[ramp(i * 100, 1, 16)] = f(in[ramp(i, 64, 16)])
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// Loads further apart than this in a vector come one by one, nearer ones from whole vectors put together by shuffles.
inline constexpr int64_t kShuffledStride = 4;

struct TransposedLoad {
  const kernels::te::ExprNode* load = nullptr;
  int64_t rows = 0;  // of the block, from the first: the lanes that are loaded at all
};

// The loads of a serial loop over one vector store that go on by one element a round, with lanes further apart than
// kShuffledStride, from buffers that the loop does not store to; at most two. Empty where there are none, where the
// loop has fewer rounds than the loads have lanes, or where their lanes are no power of two from 4 to 16.
std::vector<TransposedLoad> TransposedLoads(const kernels::ir::StmtNode& loop);

}  // namespace smelt::cpu::codegen

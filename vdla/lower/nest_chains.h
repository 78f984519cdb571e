// Nests whose value is elementwise work of the ALU on accumulators: a chain of operations on one tile, in place where
// nothing needs what was there, and then perhaps a store.
//
//   // for i < 4, lane < 16: y[i, lane] = max(sum[i, lane] - 7, 0)
//   NestChains chains(nest, scope);
//   absl::Status stored = chains.StoreToDram();         // SUB, MAX, STORE
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "vdla/lower/nest_copies.h"

namespace smelt::vdla::lower {

struct AluTerm {
  isa::AluOp op;
  const te::ExprNode* load = nullptr;  // null: imm
  int64_t imm = 0;
};

class NestChains : public NestCopies {
 public:
  using NestCopies::NestCopies;
  // The value as operations on one tile, the first of which brings it there: MOV of a load.
  absl::Status ChainOf(const te::Expr& e, std::vector<AluTerm>& chain) const;
  // The chain on the tile at buffer[indices]. With `may_alias` the tile may take the place of the one that the chain
  // begins with, where that has the same indices and nothing needs it afterwards.
  absl::Status AppendChain(const std::vector<AluTerm>& chain, const ir::Buffer& buffer,
                           const std::vector<te::Expr>& indices, bool may_alias);
  absl::Status StoreToDram();

 private:
  // Conversion to int8 keeps the low bits, a STORE saturates: they agree on values that are cut off before. The STORE
  // does as much of that as it can.
  absl::Status TakeSaturation(std::vector<AluTerm>& chain) const;
};

}  // namespace smelt::vdla::lower

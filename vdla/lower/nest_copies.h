// Nests that fill a memory of the chip from DRAM, with padding where a condition does not hold, or store to DRAM.
//
//   // for x < 16, lane < 16: tile[x*16 + lane] = x < 14 ? image[...] : 0
//   NestCopies copies(nest, scope);
//   absl::Status loaded = copies.Load(isa::Memory::kInp, nest.value);       // one more of nodes_
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "vdla/lower/nest_reader.h"

namespace smelt::vdla::lower {

class NestCopies : public NestReader {
 public:
  using NestReader::NestReader;
  // memory = a load of DRAM, or a constant where a condition does not hold.
  absl::Status Load(isa::Memory memory, te::Expr value);
  absl::Status AppendCopy(Copy copy, const ir::Buffer& sram, const std::vector<te::Expr>& sram_indices,
                          const ir::Buffer& dram, const std::vector<te::Expr>& dram_indices);

 private:
  // Conditions of a padded load: of one loop each, at most one from below and one from above.
  absl::Status ApplyPadding(const std::vector<NestIndex>& conditions);

  std::vector<NestDim> outer_bounds_;  // conditions of padding that hold for the whole box or not at all
};

}  // namespace smelt::vdla::lower

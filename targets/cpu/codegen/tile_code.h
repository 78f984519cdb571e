// Code of the tile intrinsics on AMX, with registers that are named here: LLVM assigns none, so that sums stay where
// they are over all loops of a run (tile_block.h).
// Configure comes first, then Begin of each sum, the calls of Dot and Zero, and End of each sum.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "kernels/te/expr.h"
#include "targets/cpu/codegen/element_types.h"
#include "targets/cpu/codegen/tile_block.h"

namespace smelt::cpu::codegen {

class TileCode {
 public:
  TileCode(Builder& builder, llvm::Module& module) : builder_(builder), module_(module) {}

  // Sums and left operands get tiles of so many rows, right ones of 16. All registers are zero afterwards.
  void Configure(int64_t rows);
  void Release();

  // The sum's register takes what its memory holds, unless it begins at zero; and gives it back.
  void Begin(size_t sum, const TileSum& tile, llvm::Value* pointer);
  void End(size_t sum, const TileSum& tile, llvm::Value* pointer);
  void Zero(size_t sum);
  // `left` and `right` are pointers to the call's operands: what a register has already is not loaded again.
  void Dot(const kernels::te::ExprNode& call, size_t sum, llvm::Value* left, llvm::Value* right);
  // Operands in registers are no longer what their addresses say.
  void Forget();

 private:
  struct Operands {
    struct Tile {
      const kernels::te::ExprNode* address;
      int64_t stride;
      bool operator==(const Tile&) const = default;
    };
    int first;               // register
    std::vector<Tile> held;  // by register; no address: nothing
    size_t next = 0;
  };
  llvm::Value* Register(size_t number) { return builder_.getInt8(static_cast<uint8_t>(number)); }
  llvm::Value* StrideOf(const kernels::te::Expr& address, int64_t stride);
  llvm::Value* Held(Operands& operands, llvm::Value* pointer, const kernels::te::Expr& address, int64_t stride);

  Builder& builder_;
  llvm::Module& module_;
  Operands left_{4, {{nullptr, 0}, {nullptr, 0}}}, right_{6, {{nullptr, 0}, {nullptr, 0}}};
};

}  // namespace smelt::cpu::codegen

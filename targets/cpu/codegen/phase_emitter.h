// One phase of a lowered kernel as an LLVM function with the ABI of runtime::PhaseFunction.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/ir/stmt.h"
#include "targets/cpu/codegen/arithmetic.h"
#include "targets/cpu/codegen/expr_facts.h"
#include "targets/cpu/codegen/tile_code.h"

namespace smelt::cpu::codegen {

struct CheckedFunction;   // check_function.h
struct InterleavedLoads;  // interleaved_loads.h
struct KnownLanes;        // known_lanes.h
struct TransposedLoad;    // transposed_loads.h

class PhaseEmitter {
 public:
  // `function` has passed CheckFunction (check_function.h): nothing here fails.
  PhaseEmitter(llvm::Module& module, const kernels::ir::Function& function, const CheckedFunction& checked);

  llvm::Function* Emit(const kernels::ir::Phase& phase, const std::string& symbol);
  // Bytes of thread scratch that the phases emitted so far need.
  int64_t thread_scratch_bytes() const { return thread_scratch_bytes_; }

 private:
  // How a value is wanted: index vectors that fit 32 bits are computed in half the registers.
  enum class Width : uint8_t { kFull, kNarrow };
  struct Key {
    const kernels::te::ExprNode* node;
    Width width;
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.node, key.width);
    }
  };
  using Memo = absl::flat_hash_map<Key, llvm::Value*>;
  struct BufferAccess {
    llvm::Value* base = nullptr;
    llvm::MDNode* scope = nullptr;     // alias.scope of its accesses
    llvm::MDNode* no_alias = nullptr;  // the scopes of what never shares memory with it
    // Thread scratch: the bytes where it lies, wherever it is allocated. Siblings lie in the same ones.
    int64_t begin = 0;
    int64_t end = 0;
    bool Shares(const BufferAccess& other) const { return begin < other.end && other.begin < end; }
  };

  // Statements (phase_emitter.cc).
  void EmitEntry(const kernels::ir::Phase& phase);
  void PlaceThreadScratch(const kernels::ir::Stmt& body);
  void EmitStmt(const kernels::ir::Stmt& stmt);
  void EmitAll(absl::Span<const kernels::ir::Stmt> stmts);
  void EmitTileRun(absl::Span<const kernels::ir::Stmt> stmts, const std::vector<TileSum>& sums);
  void EmitTileCall(const kernels::te::ExprNode& call);
  void EmitAttribute(const kernels::ir::StmtNode& attribute);
  void EmitFor(const kernels::ir::StmtNode& loop);
  // The rounds that are whole blocks of these loads; the number of those that are left.
  int64_t EmitTransposed(const kernels::ir::StmtNode& loop, absl::Span<const TransposedLoad> loads, llvm::Value* min,
                         Interval range);
  void EmitIf(llvm::Value* condition, const kernels::ir::Stmt& then_case, const kernels::ir::Stmt& else_case);
  void EmitAllocate(const kernels::ir::StmtNode& allocate);
  static int64_t ScratchBytes(const kernels::ir::BufferNode& buffer) { return (buffer.ByteSize() + 63) / 64 * 64; }
  // The loop's body with `var` and what else is `known` bound, as a new scope.
  void EmitBody(const kernels::te::Expr& var, llvm::Value* value, Interval interval, const kernels::ir::Stmt& body,
                const Memo& known = {});
  void AddScope(const kernels::ir::BufferNode* buffer, llvm::Value* base);
  llvm::BasicBlock* NewBlock(const char* name);

  // Expressions (expr_emitter.cc). Every distinct node is emitted once a scope, without recursion.
  llvm::Value* Emit(Key wanted);
  llvm::Value* Emit(const kernels::te::Expr& e) { return Emit({e.get(), Width::kFull}); }
  llvm::Value* EmitNode(const kernels::te::ExprNode& node);
  llvm::Value* EmitNarrow(const kernels::te::ExprNode& node);
  llvm::Value* EmitBinary(const kernels::te::ExprNode& node, llvm::Value* a, llvm::Value* b);
  void Dependencies(const kernels::te::ExprNode& node, Width width, std::vector<Key>* keys);
  llvm::Value* Find(Key key) const;
  llvm::Value* At(const kernels::te::Expr& e, Width width = Width::kFull) const;  // emitted before
  Width IndexWidth(const kernels::te::Expr& e);
  llvm::Value* Lanes(llvm::Type* element, int lanes);  // <0, 1, 2, ...>

  // Memory (memory_emitter.cc).
  struct Address;
  Address AddressOf(const kernels::te::Expr& index);
  llvm::Value* EmitLoad(const kernels::te::ExprNode& load);
  llvm::Value* LoadStrided(const kernels::ir::BufferNode& buffer, const Address& address, int lanes);
  llvm::Value* LoadKnownLanes(const kernels::ir::BufferNode& buffer, const KnownLanes& known);
  // What the load gives in each of as many rounds as it has lanes, the loop's variable bound to the first.
  std::vector<llvm::Value*> LoadTransposed(const TransposedLoad& block);
  // Makes what all of these loads give, for this scope.
  void LoadInterleaved(const InterleavedLoads& rows);
  llvm::Value* LoadGather(const kernels::ir::BufferNode& buffer, llvm::Value* index, llvm::Value* mask, int lanes);
  void EmitStore(const kernels::ir::StmtNode& store);
  void EmitInterleaved(absl::Span<const kernels::ir::Stmt> stores);  // interleaved_stores.h
  void LoadDependencies(const kernels::te::ExprNode& load, std::vector<Key>* keys);
  void AddressDependencies(const kernels::te::Expr& index, std::vector<Key>* keys);
  llvm::Value* Pointer(const kernels::ir::BufferNode& buffer, llvm::Value* index);
  llvm::Value* Offset(llvm::Value* base, int64_t offset);
  template <typename Instruction>
  Instruction* Tag(const kernels::ir::BufferNode& buffer, Instruction* access);
  llvm::Align ElementAlign(const kernels::ir::BufferNode& buffer) const;

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const kernels::ir::Function& kernel_;
  const CheckedFunction& checked_;
  Builder builder_;
  Arithmetic arithmetic_;
  ExprFacts facts_;
  TileCode tile_code_;

  llvm::Function* function_ = nullptr;
  llvm::Instruction* entry_end_ = nullptr;  // allocas go before it
  llvm::MDNode* alias_domain_ = nullptr;
  absl::flat_hash_map<const kernels::ir::BufferNode*, BufferAccess> buffers_;
  std::vector<const kernels::ir::BufferNode*> scoped_;  // those with an alias scope, in a fixed order
  std::vector<Memo> scopes_;                            // values by scope, outermost first
  Memo statement_;                                   // values that depend on memory the kernel writes: of one statement
  std::vector<int64_t> tile_rows_;                   // of the phase's tiles, each once
  const std::vector<TileSum>* tile_sums_ = nullptr;  // in registers while their run is emitted
  bool streaming_store_ = false;                     // the next store passes the caches by
  bool streams_ = false;                             // some store of the function does
  bool unrolls_ = false;                             // LLVM unrolls the next loop
  int64_t scratch_offset_ = 0;
  int64_t thread_scratch_bytes_ = 0;
};

}  // namespace smelt::cpu::codegen

#include "targets/cpu/codegen/phase_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/ir/annotation.h"
#include "targets/cpu/codegen/check_function.h"
#include "targets/cpu/codegen/interleaved_loads.h"
#include "targets/cpu/codegen/interleaved_stores.h"
#include "targets/cpu/codegen/transposed_loads.h"

namespace smelt::cpu::codegen {

PhaseEmitter::PhaseEmitter(llvm::Module& module, const kernels::ir::Function& function, const CheckedFunction& checked)
    : module_(module),
      context_(module.getContext()),
      kernel_(function),
      checked_(checked),
      builder_(context_),
      arithmetic_(builder_),
      facts_(checked.written),
      tile_code_(builder_, module) {
  // A multiplication and an addition may become one instruction; nothing else may change a result.
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder_.setFastMathFlags(flags);
}

llvm::BasicBlock* PhaseEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::Function* PhaseEmitter::Emit(const kernels::ir::Phase& phase, const std::string& symbol) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  llvm::Type* index = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, index, index}, /*isVarArg=*/false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->setDoesNotThrow();
  for (int i : {0, 1}) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
    function_->addParamAttr(i, llvm::Attribute::NoCapture);
  }
  function_->addParamAttr(0, llvm::Attribute::ReadOnly);
  function_->addParamAttr(1, llvm::Attribute::getWithAlignment(context_, llvm::Align(64)));

  buffers_.clear();
  scoped_.clear();
  scopes_.assign(1, Memo());
  statement_.clear();
  streams_ = false;
  scratch_offset_ = 0;
  tile_rows_ = TileRowsIn(phase.body);
  EmitEntry(phase);

  if (!phase.var) {
    EmitAll({&phase.body, 1});
  } else {
    llvm::Value* begin = function_->getArg(2);
    llvm::Value* end = function_->getArg(3);
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* loop = NewBlock("parallel");
    llvm::BasicBlock* after = NewBlock("parallel.end");
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), loop, after);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* i = builder_.CreatePHI(index, 2, "iteration");
    EmitBody(phase.var, i, Interval::Of(0, std::max<int64_t>(phase.extent - 1, 0)), phase.body);
    llvm::Value* next = builder_.CreateAdd(i, builder_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    i->addIncoming(begin, before);
    i->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, after);
    builder_.SetInsertPoint(after);
  }
  // Stores that pass the caches by are ordered with nothing: others see them after this.
  if (streams_ && llvm::Triple(module_.getTargetTriple()).isX86())
    builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  if (!tile_rows_.empty()) tile_code_.Release();
  builder_.CreateRetVoid();
  return function_;
}

// Loads the pointers of arguments and shared scratch, which is all that the entry block does, and gives every buffer an
// alias scope of its own: its accesses meet none of the buffers that lie elsewhere.
void PhaseEmitter::EmitEntry(const kernels::ir::Phase& phase) {
  llvm::BasicBlock* entry = NewBlock("entry");
  llvm::BasicBlock* body = NewBlock("body");
  builder_.SetInsertPoint(entry);
  llvm::MDBuilder metadata(context_);
  alias_domain_ = metadata.createAnonymousAliasScopeDomain("kernel");

  std::vector<const kernels::ir::BufferNode*> passed;
  for (const kernels::ir::Buffer& buffer : kernel_.arguments) passed.push_back(buffer.get());
  for (const kernels::ir::Buffer& buffer : kernel_.shared) passed.push_back(buffer.get());
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  llvm::MDNode* empty = llvm::MDNode::get(context_, {});
  auto number = [&](int64_t value) {
    return llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt64(value)));
  };
  for (size_t i = 0; i < passed.size(); ++i) {
    llvm::Value* slot = builder_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(0), i);
    llvm::LoadInst* base = builder_.CreateAlignedLoad(pointer, slot, llvm::Align(8), passed[i]->name);
    base->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    base->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
    base->setMetadata(llvm::LLVMContext::MD_noundef, empty);
    base->setMetadata(llvm::LLVMContext::MD_align, number(passed[i]->alignment));
    if (passed[i]->ByteSize() > 0) {
      base->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(passed[i]->ByteSize()));
    }
    AddScope(passed[i], base);
  }
  PlaceThreadScratch(phase.body);
  for (const kernels::ir::BufferNode* buffer : scoped_) {
    std::vector<llvm::Metadata*> others;
    for (const kernels::ir::BufferNode* other : scoped_) {
      if (other != buffer && !buffers_[buffer].Shares(buffers_[other])) {
        others.push_back(buffers_[other].scope->getOperand(0));
      }
    }
    buffers_[buffer].no_alias = llvm::MDNode::get(context_, others);
  }
  // Once a call, as far as all tiles are alike: it takes as long as several tiles do.
  if (tile_rows_.size() == 1) tile_code_.Configure(tile_rows_[0]);
  entry_end_ = builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
}

// Finds where EmitAllocate will put each buffer, so that the scopes are known before the first access.
void PhaseEmitter::PlaceThreadScratch(const kernels::ir::Stmt& body) {
  std::vector<std::pair<const kernels::ir::StmtNode*, int64_t>> open = {{body.get(), 0}};
  while (!open.empty()) {
    auto [stmt, offset] = open.back();
    open.pop_back();
    if (stmt == nullptr) continue;
    if (stmt->kind == kernels::ir::StmtKind::kAllocate &&
        stmt->buffer->scope.allocator == kernels::te::Allocator::kWorker) {
      const kernels::ir::BufferNode* buffer = stmt->buffer.get();
      const bool first = !buffers_.contains(buffer);
      if (first) AddScope(buffer, nullptr);
      BufferAccess& access = buffers_[buffer];
      const int64_t end = offset + ScratchBytes(*buffer);
      access.begin = first ? offset : std::min(access.begin, offset);
      access.end = first ? end : std::max(access.end, end);
      offset = end;
    }
    open.emplace_back(stmt->then_case.get(), offset);
    open.emplace_back(stmt->else_case.get(), offset);
    for (const kernels::ir::Stmt& child : stmt->stmts) open.emplace_back(child.get(), offset);
  }
}

void PhaseEmitter::AddScope(const kernels::ir::BufferNode* buffer, llvm::Value* base) {
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* scope = metadata.createAnonymousAliasScope(alias_domain_, buffer->name);
  buffers_[buffer] = {.base = base, .scope = llvm::MDNode::get(context_, {scope})};
  scoped_.push_back(buffer);
}

void PhaseEmitter::EmitStmt(const kernels::ir::Stmt& stmt) {
  if (stmt == nullptr) return;
  switch (stmt->kind) {
    case kernels::ir::StmtKind::kSeq:
      EmitAll(stmt->stmts);
      return;
    case kernels::ir::StmtKind::kFor:
      EmitFor(*stmt);
      return;
    case kernels::ir::StmtKind::kStore:
      EmitStore(*stmt);
      statement_.clear();
      return;
    case kernels::ir::StmtKind::kEvaluate:
      if (tile_sums_ != nullptr) {
        EmitTileCall(*stmt->value);
      } else {
        Emit(stmt->value);
      }
      statement_.clear();
      return;
    case kernels::ir::StmtKind::kAttribute:
      EmitAttribute(*stmt);
      return;
    case kernels::ir::StmtKind::kAllocate:
      EmitAllocate(*stmt);
      return;
    case kernels::ir::StmtKind::kIf: {
      llvm::Value* condition = Emit(stmt->condition);
      statement_.clear();
      EmitIf(condition, stmt->then_case, stmt->else_case);
      return;
    }
  }
}

// Statements one after the other, of which those on tiles keep their sums in registers as long as they can.
void PhaseEmitter::EmitAll(absl::Span<const kernels::ir::Stmt> stmts) {
  const std::vector<InterleavedLoads> rows =
      stmts.size() > 1 ? FindInterleavedLoads(stmts, checked_.written) : std::vector<InterleavedLoads>();
  auto next_rows = rows.begin();
  for (size_t i = 0; i < stmts.size();) {
    const TileRun run = tile_rows_.empty() || tile_sums_ != nullptr ? TileRun() : FindTileRun(stmts.subspan(i));
    const size_t interleaved = InterleavedStores(stmts.subspan(i));
    const size_t end = i + std::max({run.count, interleaved, size_t{1}});
    for (; next_rows != rows.end() && next_rows->first_use < end; ++next_rows) LoadInterleaved(*next_rows);
    if (run.count > 0) {
      EmitTileRun(stmts.subspan(i, run.count), run.sums);
    } else if (interleaved > 0) {
      EmitInterleaved(stmts.subspan(i, interleaved));
    } else {
      EmitStmt(stmts[i]);
    }
    i = end;
  }
}

void PhaseEmitter::EmitTileRun(absl::Span<const kernels::ir::Stmt> stmts, const std::vector<TileSum>& sums) {
  if (tile_rows_.size() > 1) tile_code_.Configure(sums[0].rows);
  std::vector<llvm::Value*> pointers;
  for (const TileSum& sum : sums) pointers.push_back(Emit(sum.address));
  statement_.clear();
  for (size_t i = 0; i < sums.size(); ++i) tile_code_.Begin(i, sums[i], pointers[i]);
  tile_sums_ = &sums;
  tile_code_.Forget();
  for (const kernels::ir::Stmt& stmt : stmts) EmitStmt(stmt);
  tile_sums_ = nullptr;
  for (size_t i = 0; i < sums.size(); ++i) tile_code_.End(i, sums[i], pointers[i]);
}

void PhaseEmitter::EmitTileCall(const kernels::te::ExprNode& call) {
  const auto at = std::find_if(tile_sums_->begin(), tile_sums_->end(),
                               [&](const TileSum& sum) { return sum.address.Same(call.operands[0]); });
  const size_t sum = static_cast<size_t>(at - tile_sums_->begin());
  if (call.operands.size() == 3) {
    tile_code_.Zero(sum);
    return;
  }
  llvm::Value* left = Emit(call.operands[1]);
  llvm::Value* right = Emit(call.operands[2]);
  tile_code_.Dot(call, sum, left, right);
}

// What lowering has decided of the one statement within; other attributes do not concern this code.
void PhaseEmitter::EmitAttribute(const kernels::ir::StmtNode& attribute) {
  streaming_store_ = kernels::ir::IsAnnotation(attribute, kernels::ir::kStreamingStore);
  unrolls_ = kernels::ir::IsAnnotation(attribute, kernels::ir::kUnrollByCompiler);
  EmitAll({&attribute.body(), 1});
  streaming_store_ = unrolls_ = false;
}

void PhaseEmitter::EmitBody(const kernels::te::Expr& var, llvm::Value* value, Interval interval,
                            const kernels::ir::Stmt& body, const Memo& known) {
  scopes_.push_back(known);
  facts_.Bind(var, interval);
  scopes_.back()[{var.get(), Width::kFull}] = value;
  tile_code_.Forget();
  EmitAll({&body, 1});
  tile_code_.Forget();
  scopes_.pop_back();
}

int64_t PhaseEmitter::EmitTransposed(const kernels::ir::StmtNode& loop, absl::Span<const TransposedLoad> loads,
                                     llvm::Value* min, Interval range) {
  int64_t rounds = 0;
  kernels::te::IsConstInt(loop.extent, &rounds);
  const int64_t lanes = loads[0].load->type.lanes, whole = rounds / lanes * lanes;
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = NewBlock("block");
  llvm::BasicBlock* after = NewBlock("block.end");
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* i = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  llvm::Value* first = builder_.CreateAdd(min, i, "", false, /*HasNSW=*/true);
  std::vector<std::vector<llvm::Value*>> values;
  scopes_.emplace_back();
  facts_.Bind(loop.var, range);
  scopes_.back()[{loop.var.get(), Width::kFull}] = first;
  for (const TransposedLoad& load : loads) values.push_back(LoadTransposed(load));
  statement_.clear();
  scopes_.pop_back();
  for (int64_t k = 0; k < lanes; ++k) {
    Memo known;
    for (size_t l = 0; l < loads.size(); ++l) known[{loads[l].load, Width::kFull}] = values[l][k];
    EmitBody(loop.var, Offset(first, k), range, loop.body(), known);
  }
  llvm::Value* next = builder_.CreateAdd(i, builder_.getInt64(lanes), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(builder_.getInt64(0), before);
  i->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, builder_.getInt64(whole)), body, after);
  builder_.SetInsertPoint(after);
  return rounds - whole;
}

void PhaseEmitter::EmitFor(const kernels::ir::StmtNode& loop) {
  const bool unrolls = std::exchange(unrolls_, false);
  const Interval first = facts_.Of(loop.min.get()).range;
  const Interval count = facts_.Of(loop.extent.get()).range;
  if (count.known && count.high <= 0) return;
  Interval range;
  int64_t last;
  if (first.known && count.known && !__builtin_add_overflow(first.high, count.high - 1, &last)) {
    range = Interval::Of(first.low, last);
  }
  llvm::Value* min = Emit(loop.min);
  llvm::Value* extent = Emit(loop.extent);
  statement_.clear();
  int64_t constant = 0;
  const bool is_constant = kernels::te::IsConstInt(loop.extent, &constant);
  if (is_constant && constant == 1) {
    EmitBody(loop.var, min, range, loop.body());
    return;
  }
  if (const std::vector<TransposedLoad> transposed = TransposedLoads(loop); !transposed.empty()) {
    const int64_t left = EmitTransposed(loop, transposed, min, range);
    if (left == 0) return;
    min = Offset(min, constant - left);
    extent = builder_.getInt64(left);
  }
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = NewBlock("loop");
  llvm::BasicBlock* after = NewBlock("loop.end");
  if (is_constant) {
    builder_.CreateBr(body);
  } else {
    builder_.CreateCondBr(builder_.CreateICmpSGT(extent, builder_.getInt64(0)), body, after);
  }
  builder_.SetInsertPoint(body);
  llvm::PHINode* i = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  llvm::Value* value = builder_.CreateAdd(min, i, "", false, /*HasNSW=*/true);
  EmitBody(loop.var, value, range, loop.body());
  llvm::Value* next = builder_.CreateAdd(i, builder_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(builder_.getInt64(0), before);
  i->addIncoming(next, builder_.GetInsertBlock());
  llvm::BranchInst* latch = builder_.CreateCondBr(builder_.CreateICmpSLT(next, extent), body, after);
  if (unrolls) {
    llvm::MDNode* full = llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.full"));
    llvm::MDNode* id = llvm::MDNode::getDistinct(context_, {nullptr, full});
    id->replaceOperandWith(0, id);
    latch->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
  builder_.SetInsertPoint(after);
}

void PhaseEmitter::EmitIf(llvm::Value* condition, const kernels::ir::Stmt& then_case,
                          const kernels::ir::Stmt& else_case) {
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* else_block = else_case ? NewBlock("else") : nullptr;
  llvm::BasicBlock* after = NewBlock("if.end");
  builder_.CreateCondBr(condition, then_block, else_block ? else_block : after);
  for (auto [block, body] : {std::pair{then_block, &then_case}, std::pair{else_block, &else_case}}) {
    if (block == nullptr) continue;
    builder_.SetInsertPoint(block);
    scopes_.emplace_back();
    EmitAll({body, 1});
    scopes_.pop_back();
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
}

void PhaseEmitter::EmitAllocate(const kernels::ir::StmtNode& allocate) {
  const kernels::ir::BufferNode& buffer = *allocate.buffer;
  const int64_t outer_offset = scratch_offset_;
  if (buffer.scope.allocator == kernels::te::Allocator::kWorker) {
    buffers_[&buffer].base =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), function_->getArg(1), scratch_offset_, buffer.name);
    scratch_offset_ += ScratchBytes(buffer);
    thread_scratch_bytes_ = std::max(thread_scratch_bytes_, scratch_offset_);
  } else if (buffer.scope.allocator == kernels::te::Allocator::kRegisters) {
    llvm::Type* element = MemoryType(context_, {buffer.type, 1});
    llvm::Type* array = llvm::ArrayType::get(element, std::max<int64_t>(buffer.ElementCount(), 1));
    auto* storage = new llvm::AllocaInst(array, 0, nullptr, llvm::Align(64), buffer.name, entry_end_->getIterator());
    buffers_[&buffer] = {.base = storage};
  }
  EmitAll({&allocate.body(), 1});
  scratch_offset_ = outer_offset;
}

}  // namespace smelt::cpu::codegen

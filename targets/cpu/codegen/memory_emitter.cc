// Loads and stores: contiguous, strided, gathered, with and without predicates.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "kernels/ir/interleaved_rows.h"
#include "targets/cpu/codegen/interleaved_loads.h"
#include "targets/cpu/codegen/known_lanes.h"
#include "targets/cpu/codegen/phase_emitter.h"
#include "targets/cpu/codegen/transposed_loads.h"

namespace smelt::cpu::codegen {

using kernels::te::Expr;
using kernels::te::ExprKind;

// An index as codegen sees it: scalar; lanes at a constant distance; or a vector of indices.
struct PhaseEmitter::Address {
  enum class Kind { kScalar, kStrided, kVector };
  Kind kind = Kind::kScalar;
  int64_t stride = 0;            // kStrided
  llvm::Value* index = nullptr;  // of the element, of the first lane, or of all lanes
};

namespace {

bool IsStrided(const Expr& index, int64_t* stride) {
  return index->kind == ExprKind::kRamp && kernels::te::IsConstInt(index->operands[1], stride);
}

// The conditions that all lanes of a predicate share: those that a conjunction splats.
std::vector<Expr> UniformConditions(const Expr& predicate) {
  if (predicate.type().lanes == 1) return {predicate};
  std::vector<Expr> uniform;
  for (const Expr& each : kernels::te::Conjuncts(predicate)) {
    if (each->kind == ExprKind::kSplat) uniform.push_back(each->operands[0]);
  }
  return uniform;
}

// Makes vectors of all first elements of rows, of all second ones, and so on, from as many vectors as a row has
// elements, which lie in memory one after the other and hold whole rows.
std::vector<llvm::Value*> TakeApart(Builder& builder, std::vector<llvm::Value*> vectors, int lanes) {
  const int count = static_cast<int>(vectors.size());
  if (count == 1) return vectors;
  const auto ways = static_cast<int>(kernels::ir::WaysApart(count));
  std::vector<llvm::Value*> result(count);
  for (int way = 0; way < ways; ++way) {
    std::vector<llvm::Value*> part;
    for (int group = 0; group < count; group += ways) {
      llvm::Value* all = llvm::PoisonValue::get(vectors[0]->getType());
      for (int k = 0; k < ways; ++k) {
        std::vector<int> mask(lanes);
        for (int i = 0; i < lanes; ++i) {
          const int element = i * ways + way - k * lanes;  // of this vector, where it is one
          mask[i] = element < 0 ? i : element < lanes ? lanes + element : -1;
        }
        all = builder.CreateShuffleVector(all, vectors[group + k], mask);
      }
      part.push_back(all);
    }
    part = TakeApart(builder, std::move(part), lanes);
    for (size_t i = 0; i < part.size(); ++i) result[i * ways + way] = part[i];
  }
  return result;
}

}  // namespace

void PhaseEmitter::LoadDependencies(const kernels::te::ExprNode& load, std::vector<Key>* keys) {
  if (const std::optional<KnownLanes> known = KnownLanesOf(load)) {
    for (const Expr& term : known->terms) keys->push_back({term.get(), Width::kFull});
    return;
  }
  AddressDependencies(load.operands[0], keys);
  if (!load.predicate) return;
  keys->push_back({load.predicate.get(), Width::kFull});
  if (load.type.lanes == 1) return;
  for (const Expr& condition : UniformConditions(load.predicate)) keys->push_back({condition.get(), Width::kFull});
}

void PhaseEmitter::AddressDependencies(const Expr& index, std::vector<Key>* keys) {
  int64_t stride;
  if (index.type().lanes == 1) {
    keys->push_back({index.get(), Width::kFull});
  } else if (IsStrided(index, &stride) || index->kind == ExprKind::kSplat) {
    keys->push_back({index->operands[0].get(), Width::kFull});
  } else {
    keys->push_back({index.get(), IndexWidth(index)});
  }
}

PhaseEmitter::Address PhaseEmitter::AddressOf(const Expr& index) {
  int64_t stride;
  if (index.type().lanes == 1) return {Address::Kind::kScalar, 0, At(index)};
  if (IsStrided(index, &stride)) return {Address::Kind::kStrided, stride, At(index->operands[0])};
  if (index->kind == ExprKind::kSplat) return {Address::Kind::kStrided, 0, At(index->operands[0])};
  return {Address::Kind::kVector, 0, At(index, IndexWidth(index))};
}

llvm::Align PhaseEmitter::ElementAlign(const kernels::ir::BufferNode& buffer) const {
  return llvm::Align(hlo::StorageBytes(buffer.type));
}

llvm::Value* PhaseEmitter::Pointer(const kernels::ir::BufferNode& buffer, llvm::Value* index) {
  auto at = buffers_.find(&buffer);
  Check(at != buffers_.end() && at->second.base != nullptr, "a buffer is used inside its allocation");
  return builder_.CreateInBoundsGEP(MemoryType(context_, {buffer.type, 1}), at->second.base, index);
}

llvm::Value* PhaseEmitter::Offset(llvm::Value* base, int64_t offset) {
  if (offset == 0) return base;
  return builder_.CreateAdd(base, builder_.getInt64(offset), "", false, /*HasNSW=*/true);
}

template <typename Instruction>
Instruction* PhaseEmitter::Tag(const kernels::ir::BufferNode& buffer, Instruction* access) {
  const BufferAccess& known = buffers_.at(&buffer);
  if (known.scope != nullptr) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, known.scope);
    access->setMetadata(llvm::LLVMContext::MD_noalias, known.no_alias);
  }
  return access;
}

llvm::Value* PhaseEmitter::LoadStrided(const kernels::ir::BufferNode& buffer, const Address& address, int lanes) {
  llvm::Type* element = MemoryType(context_, {buffer.type, 1});
  const llvm::Align align = ElementAlign(buffer);
  const int64_t stride = address.stride;
  auto load = [&](llvm::Type* type, int64_t offset) {
    llvm::Value* pointer = Pointer(buffer, Offset(address.index, offset));
    return Tag(buffer, builder_.CreateAlignedLoad(type, pointer, align));
  };
  if (stride == 0) return builder_.CreateVectorSplat(lanes, load(element, 0));
  if (stride == 1) return load(WithLanes(element, lanes), 0);
  if (stride == -1) {
    std::vector<int> reversed;
    for (int i = 0; i < lanes; ++i) reversed.push_back(lanes - 1 - i);
    return builder_.CreateShuffleVector(load(WithLanes(element, lanes), -(lanes - 1)), reversed);
  }
  if (stride > 1 && stride <= kShuffledStride && lanes >= 4) {
    // Whole vectors that together cover the lanes and nothing beyond the last one, which ends the last vector.
    const int64_t last = stride * (lanes - 1) + 1 - lanes;
    llvm::Value* result = llvm::PoisonValue::get(WithLanes(element, lanes));
    std::vector<int> filled(lanes, -1);
    for (int64_t part = 0; part < stride; ++part) {
      const int64_t start = part + 1 < stride ? part * lanes : last;
      llvm::Value* vector = load(WithLanes(element, lanes), start);
      std::vector<int> mask(lanes);
      for (int i = 0; i < lanes; ++i) {
        const int64_t offset = i * stride - start;
        const bool here = filled[i] < 0 && offset >= 0 && offset < lanes;
        mask[i] = filled[i] >= 0 ? i : here ? static_cast<int>(lanes + offset) : -1;
        if (here) filled[i] = 1;
      }
      result = builder_.CreateShuffleVector(result, vector, mask);
    }
    return result;
  }
  // Far apart: one load a lane, at constant distances from one address.
  llvm::Value* result = llvm::PoisonValue::get(WithLanes(element, lanes));
  for (int i = 0; i < lanes; ++i) result = builder_.CreateInsertElement(result, load(element, i * stride), i);
  return result;
}

llvm::Value* PhaseEmitter::LoadKnownLanes(const kernels::ir::BufferNode& buffer, const KnownLanes& known) {
  llvm::Type* element = MemoryType(context_, {buffer.type, 1});
  llvm::Value* base = nullptr;
  for (const Expr& term : known.terms) {
    base = base == nullptr ? At(term) : builder_.CreateAdd(base, At(term), "", false, /*HasNSW=*/true);
  }
  if (base == nullptr) base = builder_.getInt64(0);
  const int lanes = static_cast<int>(known.offsets.size());
  const auto load = [&](int64_t offset, int64_t width) -> llvm::Value* {
    llvm::Value* pointer = Pointer(buffer, Offset(base, offset));
    llvm::Type* type = width == 1 ? element : WithLanes(element, static_cast<int>(width));
    return Tag(buffer, builder_.CreateAlignedLoad(type, pointer, ElementAlign(buffer)));
  };
  llvm::Value* result = nullptr;
  for (const Span& span : SpansOf(known)) {
    // From its first element to the last, and nothing beyond: one vector, or two that may overlap.
    const auto width = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(span.count())));
    llvm::Value* first = load(span.first, width);
    if (width == 1) first = builder_.CreateVectorSplat(lanes, first);
    const int64_t second = span.last + 1 - width;
    std::vector<int> mask(lanes, -1), merged(lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      const int64_t offset = known.offsets[lane];
      const bool here = offset >= span.first && offset <= span.last;
      merged[lane] = here ? lanes + lane : lane;
      if (!here) continue;
      mask[lane] = static_cast<int>(offset < span.first + width ? offset - span.first : width + offset - second);
    }
    llvm::Value* vector = first;
    if (width > 1 && span.count() == width) vector = builder_.CreateShuffleVector(first, mask);
    if (width > 1 && span.count() > width) vector = builder_.CreateShuffleVector(first, load(second, width), mask);
    result = result == nullptr ? vector : builder_.CreateShuffleVector(result, vector, merged);
  }
  return result;
}

llvm::Value* PhaseEmitter::LoadGather(const kernels::ir::BufferNode& buffer, llvm::Value* index, llvm::Value* mask,
                                      int lanes) {
  llvm::Type* element = MemoryType(context_, {buffer.type, 1});
  const llvm::Align align = ElementAlign(buffer);
  // Half as many instructions where indices are as short as elements: 0.8 ns an element and not 1.4 on a Cascade Lake.
  if (buffer.ElementCount() <= std::numeric_limits<int32_t>::max())
    index = builder_.CreateTrunc(index, WithLanes(builder_.getInt32Ty(), lanes));
  if (element->getScalarSizeInBits() >= 32) {
    llvm::Value* pointers = Pointer(buffer, index);
    return Tag(buffer, builder_.CreateMaskedGather(WithLanes(element, lanes), pointers, align, mask,
                                                   llvm::Constant::getNullValue(WithLanes(element, lanes))));
  }
  // No gather instruction for small elements. Element 0 stands in for lanes that must not load.
  if (mask != nullptr) index = builder_.CreateSelect(mask, index, llvm::Constant::getNullValue(index->getType()));
  llvm::Value* result = llvm::PoisonValue::get(WithLanes(element, lanes));
  for (int i = 0; i < lanes; ++i) {
    llvm::Value* at = builder_.CreateSExt(builder_.CreateExtractElement(index, i), builder_.getInt64Ty());
    llvm::Value* value = Tag(buffer, builder_.CreateAlignedLoad(element, Pointer(buffer, at), align));
    result = builder_.CreateInsertElement(result, value, i);
  }
  return result;
}

llvm::Value* PhaseEmitter::EmitLoad(const kernels::te::ExprNode& load) {
  const kernels::ir::BufferNode& buffer = *load.buffer;
  const int lanes = load.type.lanes;
  const llvm::Align align = ElementAlign(buffer);
  llvm::Type* type = MemoryType(context_, {buffer.type, lanes});
  if (const std::optional<KnownLanes> known = KnownLanesOf(load))
    return FromMemory(builder_, buffer.type, LoadKnownLanes(buffer, *known));
  Address address = AddressOf(load.operands[0]);
  llvm::Value* predicate = load.predicate ? At(load.predicate) : nullptr;
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* pattern;
  // One condition for all lanes, where there is one.
  llvm::Value* uniform = nullptr;
  if (predicate != nullptr && !predicate->getType()->isVectorTy()) uniform = predicate;
  if (predicate != nullptr && load.predicate->kind == ExprKind::kSplat) uniform = At(load.predicate->operands[0]);
  if (uniform == predicate && uniform != nullptr && lanes > 1) {
    predicate = builder_.CreateVectorSplat(lanes, predicate);
  }
  if (address.kind == Address::Kind::kScalar) {
    llvm::Value* index = address.index;
    // Element 0 stands in where the load must not happen: cheaper than a branch.
    if (predicate != nullptr) index = builder_.CreateSelect(predicate, index, builder_.getInt64(0));
    pattern = Tag(buffer, builder_.CreateAlignedLoad(type, Pointer(buffer, index), align));
    if (predicate != nullptr) pattern = builder_.CreateSelect(predicate, pattern, zero);
  } else if (address.kind == Address::Kind::kStrided && predicate == nullptr) {
    pattern = LoadStrided(buffer, address, lanes);
  } else if (address.kind == Address::Kind::kStrided && uniform != nullptr &&
             std::abs(address.stride) * (lanes - 1) < buffer.ElementCount()) {
    // The buffer's start stands in, as many elements of it.
    const int64_t first = std::max<int64_t>(-address.stride, 0) * (lanes - 1);
    address.index = builder_.CreateSelect(uniform, address.index, builder_.getInt64(first));
    pattern = builder_.CreateSelect(uniform, LoadStrided(buffer, address, lanes), zero);
  } else if (address.kind == Address::Kind::kStrided && address.stride == 1) {
    llvm::Value* index = address.index;
    // Masked loads of addresses that are not mapped take a thousand cycles on some CPUs: the buffer's start stands in.
    for (const Expr& condition : UniformConditions(load.predicate)) {
      index = builder_.CreateSelect(At(condition), index, builder_.getInt64(0));
    }
    llvm::Value* pointer = Pointer(buffer, index);
    pattern = Tag(buffer, builder_.CreateMaskedLoad(type, pointer, align, predicate, zero));
  } else {
    llvm::Value* index = address.index;
    if (address.kind == Address::Kind::kStrided) {
      llvm::Value* steps = builder_.CreateMul(Lanes(builder_.getInt64Ty(), lanes),
                                              IntegerConstant(WithLanes(builder_.getInt64Ty(), lanes), address.stride));
      index = builder_.CreateAdd(builder_.CreateVectorSplat(lanes, index), steps);
    }
    pattern = LoadGather(buffer, index, predicate, lanes);
    // Lanes that stand in for element 0 become 0.
    if (predicate != nullptr) pattern = builder_.CreateSelect(predicate, pattern, zero);
  }
  return FromMemory(builder_, buffer.type, pattern);
}

void PhaseEmitter::EmitStore(const kernels::ir::StmtNode& store) {
  const kernels::ir::BufferNode& buffer = *store.buffer;
  const llvm::Align align = ElementAlign(buffer);
  llvm::Value* predicate = store.predicate ? Emit(store.predicate) : nullptr;
  llvm::Value* value = Emit(store.value);
  std::vector<Key> keys;
  AddressDependencies(store.indices[0], &keys);
  for (const Key& key : keys) Emit(key);
  Address address = AddressOf(store.indices[0]);
  const int lanes = store.indices[0].type().lanes;
  if (lanes > 1 && !value->getType()->isVectorTy()) value = builder_.CreateVectorSplat(lanes, value);

  // A scalar predicate is a branch, for scalars and vectors alike.
  llvm::BasicBlock* after = nullptr;
  if (predicate != nullptr && !predicate->getType()->isVectorTy()) {
    llvm::BasicBlock* guarded = NewBlock("store");
    after = NewBlock("store.end");
    builder_.CreateCondBr(predicate, guarded, after);
    builder_.SetInsertPoint(guarded);
    predicate = nullptr;
  }
  llvm::Value* pattern = ToMemory(builder_, buffer.type, value);
  if (address.kind == Address::Kind::kScalar || (address.kind == Address::Kind::kStrided && address.stride == 1)) {
    llvm::Value* pointer = Pointer(buffer, address.index);
    if (predicate == nullptr) {
      llvm::StoreInst* stored = Tag(buffer, builder_.CreateAlignedStore(pattern, pointer, align));
      if (streaming_store_ && lanes > 1) {
        // Lowering has seen that the address is a multiple (lower/streaming.h): there are no such stores otherwise.
        stored->setAlignment(llvm::Align(std::min<uint64_t>(hlo::StorageBytes(buffer.type) * lanes, 64)));
        stored->setMetadata(llvm::LLVMContext::MD_nontemporal,
                            llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
        streams_ = true;
      }
    } else {
      Tag(buffer, builder_.CreateMaskedStore(pattern, pointer, align, predicate));
    }
  } else if (address.kind == Address::Kind::kStrided && predicate == nullptr) {
    for (int i = 0; i < lanes; ++i) {
      llvm::Value* pointer = Pointer(buffer, Offset(address.index, i * address.stride));
      Tag(buffer, builder_.CreateAlignedStore(builder_.CreateExtractElement(pattern, i), pointer, align));
    }
  } else {
    llvm::Value* index = address.index;
    if (address.kind == Address::Kind::kStrided) {
      llvm::Value* steps = builder_.CreateMul(Lanes(builder_.getInt64Ty(), lanes),
                                              IntegerConstant(WithLanes(builder_.getInt64Ty(), lanes), address.stride));
      index = builder_.CreateAdd(builder_.CreateVectorSplat(lanes, index), steps);
    }
    Tag(buffer, builder_.CreateMaskedScatter(pattern, Pointer(buffer, index), align, predicate));
  }
  if (after != nullptr) {
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
}

void PhaseEmitter::EmitInterleaved(absl::Span<const kernels::ir::Stmt> stores) {
  const kernels::ir::BufferNode& buffer = *stores[0]->buffer;
  const int lanes = stores[0]->indices[0].type().lanes, count = static_cast<int>(stores.size());
  // All are computed before one is stored: what a store's value reads of the buffer is the element that it replaces.
  std::vector<llvm::Value*> vectors;
  for (const kernels::ir::Stmt& store : stores) {
    llvm::Value* value = Emit(store->value);
    if (!value->getType()->isVectorTy()) value = builder_.CreateVectorSplat(lanes, value);
    vectors.push_back(ToMemory(builder_, buffer.type, value));
  }
  std::vector<Key> keys;
  AddressDependencies(stores[0]->indices[0], &keys);
  for (const Key& key : keys) Emit(key);
  const Address address = AddressOf(stores[0]->indices[0]);
  for (int part = 0; part < count; ++part) {
    llvm::Value* result = llvm::PoisonValue::get(vectors[0]->getType());
    for (int k = 0; k < count; ++k) {
      std::vector<int> mask(lanes);
      for (int i = 0; i < lanes; ++i) {
        const int element = part * lanes + i;  // of the row
        mask[i] = element % count == k ? lanes + element / count : element % count < k ? i : -1;
      }
      result = builder_.CreateShuffleVector(result, vectors[k], mask);
    }
    Tag(buffer, builder_.CreateAlignedStore(result, Pointer(buffer, Offset(address.index, part * lanes)),
                                            ElementAlign(buffer)));
  }
  statement_.clear();
}

void PhaseEmitter::LoadInterleaved(const InterleavedLoads& rows) {
  const kernels::te::ExprNode& first = *rows.loads[0];
  const kernels::ir::BufferNode& buffer = *first.buffer;
  const int lanes = first.type.lanes;
  llvm::Type* type = MemoryType(context_, {buffer.type, lanes});
  std::vector<Key> keys;
  AddressDependencies(first.operands[0], &keys);
  for (const Key& key : keys) Emit(key);
  const Address address = AddressOf(first.operands[0]);
  statement_.clear();
  std::vector<llvm::Value*> vectors;
  for (size_t part = 0; part < rows.loads.size(); ++part) {
    llvm::Value* pointer = Pointer(buffer, Offset(address.index, static_cast<int64_t>(part) * lanes));
    vectors.push_back(Tag(buffer, builder_.CreateAlignedLoad(type, pointer, ElementAlign(buffer))));
  }
  vectors = TakeApart(builder_, std::move(vectors), lanes);
  for (size_t k = 0; k < rows.loads.size(); ++k) {
    scopes_.back()[{rows.loads[k], Width::kFull}] = FromMemory(builder_, buffer.type, vectors[k]);
  }
}

std::vector<llvm::Value*> PhaseEmitter::LoadTransposed(const TransposedLoad& block) {
  const kernels::ir::BufferNode& buffer = *block.load->buffer;
  const int lanes = block.load->type.lanes;
  llvm::Type* type = MemoryType(context_, {buffer.type, lanes});
  std::vector<Key> keys;
  AddressDependencies(block.load->operands[0], &keys);
  for (const Key& key : keys) Emit(key);
  const Address address = AddressOf(block.load->operands[0]);
  std::vector<llvm::Value*> rows;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (lane >= block.rows) {
      rows.push_back(llvm::Constant::getNullValue(type));
      continue;
    }
    llvm::Value* pointer = Pointer(buffer, Offset(address.index, lane * address.stride));
    rows.push_back(Tag(buffer, builder_.CreateAlignedLoad(type, pointer, ElementAlign(buffer))));
  }
  // Blocks of 1, 2, 4, ... elements that face each other across the diagonal change places.
  for (int size = 1; size < lanes; size *= 2) {
    std::vector<int> even(lanes), odd(lanes);
    for (int i = 0; i < lanes; ++i) {
      even[i] = (i & size) == 0 ? i : lanes + i - size;
      odd[i] = (i & size) == 0 ? i + size : lanes + i;
    }
    for (int k = 0; k < lanes; ++k) {
      if ((k & size) != 0) continue;
      llvm::Value *a = rows[k], *b = rows[k + size];
      rows[k] = builder_.CreateShuffleVector(a, b, even);
      rows[k + size] = builder_.CreateShuffleVector(a, b, odd);
    }
  }
  for (llvm::Value*& row : rows) row = FromMemory(builder_, buffer.type, row);
  return rows;
}

}  // namespace smelt::cpu::codegen

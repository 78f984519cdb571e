// Operations whose elements are found by computed indices.
#include <algorithm>

#include "fuzz/generate/rules.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

PrimitiveType IndexType(Draft& draft) {
  static const std::vector<PrimitiveType> kTypes = {PrimitiveType::kS32, PrimitiveType::kS32, PrimitiveType::kS32,
                                                    PrimitiveType::kS64, PrimitiveType::kU32, PrimitiveType::kU8,
                                                    PrimitiveType::kS8,  PrimitiveType::kU64, PrimitiveType::kS16};
  return draft.random.Pick(kTypes);
}

// One scalar a dimension, or, as older programs have it, one vector.
std::vector<Value> StartIndices(Draft& draft, int64_t rank) {
  const PrimitiveType type = IndexType(draft);
  if (draft.random.Chance(0.1)) return {draft.ExactOfShape(Shape::Array(type, {rank}))};
  std::vector<Value> indices;
  for (int64_t d = 0; d < rank; ++d) {
    indices.push_back(draft.random.Chance(0.5) ? draft.Constant(type, static_cast<double>(draft.random.Below(5)))
                                               : draft.Scalar(type));
  }
  return indices;
}

// Start indices of a gather or a scatter: data, or, as array libraries write windows, arithmetic on where they stand.
Value ManyStartIndices(Draft& draft, const Shape& shape) {
  if (shape.rank() == 0 || !draft.random.Chance(0.3)) return draft.ExactOfShape(shape);
  static const std::vector<Opcode> kArithmetic = {kAdd, kSubtract, kMultiply, kDivide, kRemainder, kMinimum, kMaximum};
  Value indices;
  for (int64_t terms = draft.random.Between(1, 4); terms > 0; --terms) {
    const bool iota = indices.instruction == nullptr || draft.random.Chance(0.5);
    const int64_t along = draft.random.Between(0, shape.rank() - 1);
    const Value term = iota ? draft.KeepShaped(kIota, shape, {}, hlo::IotaAttributes{along}, true,
                                               static_cast<double>(shape.dimensions[along]))
                            : draft.Splat(shape, static_cast<double>(draft.random.Between(1, 4)));
    indices = indices.instruction == nullptr
                  ? term
                  : draft.Keep(draft.random.Pick(kArithmetic), {indices, term}, {}, true, kInfinite);
  }
  return indices;
}

// Sizes of a slice of the shape: whole dimensions and parts of others.
std::vector<int64_t> PartSizes(Draft& draft, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int64_t size : shape.dimensions) {
    sizes.push_back(size == 0 || draft.random.Chance(0.4) ? size : draft.PartSize(size));
  }
  return sizes;
}

bool AddDynamicSlice(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  std::vector<Value> operands = {x};
  for (const Value& index : StartIndices(draft, x.shape().rank())) operands.push_back(index);
  draft.Keep(opcode, operands, hlo::DynamicSliceAttributes{PartSizes(draft, x.shape())}, x.exact, x.magnitude);
  return true;
}

bool AddDynamicUpdateSlice(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement);
  const Value update = draft.OfShape(Shape::Array(x.type(), PartSizes(draft, x.shape())));
  std::vector<Value> operands = {x, update};
  for (const Value& index : StartIndices(draft, x.shape().rank())) operands.push_back(index);
  draft.Keep(opcode, operands, {}, x.exact && update.exact, std::max(x.magnitude, update.magnitude));
  return true;
}

// The dimension numbers that gather and scatter share, for an array of this shape.
struct IndexNumbers {
  std::vector<int64_t> map, batching, collapsed;  // of the array, collapsed in rising order, without the batching ones
  std::vector<int64_t> indices_batching;
  Shape indices;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> batch_sizes;  // the indices' dimensions without the index vector
};

IndexNumbers MakeNumbers(Draft& draft, const Shape& array) {
  IndexNumbers numbers;
  std::vector<int64_t> dimensions(array.rank());
  for (size_t d = 0; d < dimensions.size(); ++d) dimensions[d] = static_cast<int64_t>(d);
  draft.random.Shuffle(dimensions);
  if (array.rank() > 1 && draft.random.Chance(0.2)) {
    numbers.batching = {dimensions.back()};
    dimensions.pop_back();
  }
  // No start index at all: the slice begins at the origin.
  const int64_t indexed = static_cast<int64_t>(dimensions.size());
  dimensions.resize(indexed == 0 || draft.EmptyList() ? 0 : draft.random.Between(1, indexed));
  numbers.map = dimensions;
  for (int64_t d : dimensions) {
    if (draft.random.Chance(0.6)) numbers.collapsed.push_back(d);
  }
  std::sort(numbers.collapsed.begin(), numbers.collapsed.end());
  std::vector<int64_t> batch;
  for (int64_t more = draft.random.Between(0, 2); more > 0; --more) batch.push_back(draft.PartSize(5));
  if (!numbers.batching.empty()) {
    const int64_t at = draft.random.Between(0, static_cast<int64_t>(batch.size()));
    batch.insert(batch.begin() + at, array.dimensions[numbers.batching[0]]);
    numbers.indices_batching = {at};
  }
  numbers.batch_sizes = batch;
  const int64_t components = static_cast<int64_t>(numbers.map.size());
  numbers.index_vector_dim = static_cast<int64_t>(batch.size());
  if (components != 1 || draft.random.Chance(0.5)) {
    numbers.index_vector_dim = draft.random.Between(0, static_cast<int64_t>(batch.size()));
    batch.insert(batch.begin() + numbers.index_vector_dim, components);
    for (int64_t& d : numbers.indices_batching) d += d >= numbers.index_vector_dim;
  }
  numbers.indices = Shape::Array(IndexType(draft), batch);
  return numbers;
}

bool Contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Positions of the window's dimensions among `rank`, rising.
std::vector<int64_t> ChoosePositions(Draft& draft, int64_t count, int64_t rank) {
  std::vector<int64_t> positions(rank);
  for (int64_t i = 0; i < rank; ++i) positions[i] = i;
  draft.random.Shuffle(positions);
  positions.resize(count);
  std::sort(positions.begin(), positions.end());
  return positions;
}

bool AddGather(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement, 3);
  const IndexNumbers numbers = MakeNumbers(draft, x.shape());
  hlo::GatherAttributes a;
  a.collapsed_slice_dims = numbers.collapsed;
  a.start_index_map = numbers.map;
  a.operand_batching_dims = numbers.batching;
  a.start_indices_batching_dims = numbers.indices_batching;
  a.index_vector_dim = numbers.index_vector_dim;
  a.slice_sizes = PartSizes(draft, x.shape());
  int64_t elements = 1;
  for (int64_t size : numbers.batch_sizes) elements *= size;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (Contains(a.collapsed_slice_dims, d) || Contains(a.operand_batching_dims, d)) {
      if (x.shape().dimensions[d] == 0) return false;
      a.slice_sizes[d] = 1;
    }
    elements *= a.slice_sizes[d];
  }
  if (elements > 4 * draft.palette.largest) return false;
  const int64_t window = x.shape().rank() - static_cast<int64_t>(numbers.collapsed.size() + numbers.batching.size());
  a.offset_dims = ChoosePositions(draft, window, window + static_cast<int64_t>(numbers.batch_sizes.size()));
  draft.Keep(opcode, {x, ManyStartIndices(draft, numbers.indices)}, a, x.exact, x.magnitude);
  return true;
}

bool AddScatter(Draft& draft, Opcode opcode) {
  const Value x = draft.Array(AnyElement, 3);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  const IndexNumbers numbers = MakeNumbers(draft, x.shape());
  hlo::ScatterAttributes a;
  a.inserted_window_dims = numbers.collapsed;
  a.scatter_dims_to_operand_dims = numbers.map;
  a.input_batching_dims = numbers.batching;
  a.scatter_indices_batching_dims = numbers.indices_batching;
  a.index_vector_dim = numbers.index_vector_dim;
  std::vector<int64_t> window;
  const std::vector<int64_t> parts = PartSizes(draft, x.shape());
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (!Contains(numbers.collapsed, d) && !Contains(numbers.batching, d)) window.push_back(parts[d]);
  }
  const int64_t rank = static_cast<int64_t>(window.size() + numbers.batch_sizes.size());
  a.update_window_dims = ChoosePositions(draft, static_cast<int64_t>(window.size()), rank);
  Shape updates = Shape::Array(x.type(), {});
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    updates.dimensions.push_back(Contains(a.update_window_dims, d) ? window[next_window++]
                                                                   : numbers.batch_sizes[next_batch++]);
  }
  if (updates.ElementCount() > 4 * draft.palette.largest) return false;
  static const std::vector<Opcode> kSums = {kAdd, kAdd, kMultiply};
  static const std::vector<Opcode> kOrdered = {kAdd, kMaximum, kMinimum, kMultiply};
  static const std::vector<Opcode> kPredicates = {kAnd, kOr, kXor};
  const Opcode combine = draft.random.Pick(PredElement(x.type())      ? kPredicates
                                           : ComplexElement(x.type()) ? kSums
                                                                      : kOrdered);
  const Value bounded = draft.Bounded(x, 2);
  // Several updates may meet in one element, so that factors must not grow.
  const Value update = draft.Bounded(draft.OfShape(updates), combine == kMultiply ? 1 : 2);
  const bool exact = BitsElement(x.type()) || ((combine == kMaximum || combine == kMinimum) && x.exact && update.exact);
  draft.Keep(opcode, {bounded, ManyStartIndices(draft, numbers.indices), update}, a, exact,
             combine == kAdd ? 2.0 * static_cast<double>(updates.ElementCount() + 1) : 4,
             {ScalarOperation(draft, combine, x.type())});
  return true;
}

const OpcodeRule kIndexedRules[] = {
    {kDynamicSlice, 5, AddDynamicSlice},
    {kDynamicUpdateSlice, 5, AddDynamicUpdateSlice},
    {kGather, 6, AddGather},
    {kScatter, 6, AddScatter},
};

}  // namespace

absl::Span<const OpcodeRule> IndexedRules() { return kIndexedRules; }

}  // namespace smelt::fuzz

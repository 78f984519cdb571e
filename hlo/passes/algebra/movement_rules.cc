#include <algorithm>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/passes/algebra/dimension_groups.h"
#include "hlo/passes/algebra/ranges.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {
namespace {

using Dimensions = std::vector<int64_t>;

const Dimensions& DimensionsOf(const Instruction& x) { return x.attributes<DimensionsAttributes>().dimensions; }
const std::vector<SliceDimension>& SliceOf(const Instruction& x) { return x.attributes<SliceAttributes>().dimensions; }
int64_t SizeOf(const SliceDimension& d) { return (d.limit - d.start + d.stride - 1) / d.stride; }
bool IsWholeDimension(const SliceDimension& d, int64_t size) { return SizeOf(d) == size; }

Instruction* SliceOfEverything(Instruction& x, GraphBuilder&) {
  return x.shape().SameDimensions(x.operand(0)->shape()) ? x.operand(0) : nullptr;
}

Instruction* SliceOfSlice(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kSlice) return nullptr;
  std::vector<SliceDimension> joined;
  for (size_t d = 0; d < SliceOf(x).size(); ++d) {
    const SliceDimension& first = SliceOf(inner)[d];
    const SliceDimension& second = SliceOf(x)[d];
    SliceDimension both;
    both.start = first.start + second.start * first.stride;
    both.stride = first.stride * second.stride;
    both.limit = both.start + (SizeOf(second) - 1) * both.stride + 1;
    joined.push_back(both);
  }
  return build.Slice(inner.operand(0), std::move(joined));
}

// slice(broadcast(y)) -> broadcast(y) to fewer elements, or of a slice of y.
Instruction* SliceOfBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& broadcast = *x.operand(0);
  if (broadcast.opcode() != Opcode::kBroadcast ||
      !std::is_sorted(DimensionsOf(broadcast).begin(), DimensionsOf(broadcast).end())) {
    return nullptr;
  }
  std::vector<SliceDimension> of_operand;
  bool operand_sliced = false;
  for (int64_t d : DimensionsOf(broadcast)) {
    of_operand.push_back(SliceOf(x)[d]);
    operand_sliced |= !IsWholeDimension(SliceOf(x)[d], broadcast.shape().dimensions[d]);
  }
  if (operand_sliced && broadcast.user_count() > 1) return nullptr;
  return build.Broadcast(build.Slice(broadcast.operand(0), std::move(of_operand)), x.shape().dimensions,
                         DimensionsOf(broadcast));
}

// A slice that lies in one operand of a concatenation reads that operand.
Instruction* SliceOfConcatenate(Instruction& x, GraphBuilder& build) {
  Instruction& concatenate = *x.operand(0);
  if (concatenate.opcode() != Opcode::kConcatenate) return nullptr;
  const int64_t dimension = DimensionsOf(concatenate)[0];
  std::vector<SliceDimension> slice = SliceOf(x);
  SliceDimension& along = slice[dimension];
  const int64_t last = along.start + (SizeOf(along) - 1) * along.stride;
  int64_t offset = 0;
  for (Instruction* operand : concatenate.operands()) {
    const int64_t size = operand->shape().dimensions[dimension];
    if (along.start >= offset && last < offset + size) {
      along.start -= offset;
      along.limit = last - offset + 1;
      return build.Slice(operand, std::move(slice));
    }
    offset += size;
    if (offset > along.start) return nullptr;
  }
  return nullptr;
}

// A slice that lies in the operand of a pad reads that; one in the padding alone is the padding value.
Instruction* SliceOfPad(Instruction& x, GraphBuilder& build) {
  Instruction& pad = *x.operand(0);
  if (pad.opcode() != Opcode::kPad) return nullptr;
  std::vector<SliceDimension> slice = SliceOf(x);
  bool inside = true;
  for (size_t d = 0; d < slice.size(); ++d) {
    const PadDimension& padding = pad.attributes<PadAttributes>().dimensions[d];
    const int64_t size = pad.operand(0)->shape().dimensions[d];
    if (padding.interior != 0) return nullptr;
    const int64_t first = slice[d].start - padding.low;
    const int64_t last = first + (SizeOf(slice[d]) - 1) * slice[d].stride;
    if (last < 0 || first >= size) return build.BroadcastScalar(pad.operand(1), x.shape());
    inside &= first >= 0 && last < size;
    slice[d].start = first;
    slice[d].limit = last + 1;
  }
  return inside ? build.Slice(pad.operand(0), std::move(slice)) : nullptr;
}

Instruction* SliceOfIota(Instruction& x, GraphBuilder& build) {
  const Instruction& iota = *x.operand(0);
  if (iota.opcode() != Opcode::kIota) return nullptr;
  const auto& attributes = iota.attributes<IotaAttributes>();
  const SliceDimension& along = SliceOf(x)[attributes.dimension];
  if (along.start != 0 || along.stride != 1) return nullptr;
  return build.Add(Opcode::kIota, Shape::Array(x.shape().element_type, x.shape().dimensions), {}, attributes);
}

// Start indices of dynamic slices follow the array (and the update).
int64_t FirstIndexOperand(const Instruction& x) { return x.opcode() == Opcode::kDynamicSlice ? 1 : 2; }
bool HasScalarIndices(const Instruction& x) {
  return x.operand_count() == FirstIndexOperand(x) + x.operand(0)->shape().rank();
}

Instruction* DynamicSliceOfEverything(Instruction& x, GraphBuilder&) {
  return x.shape().SameDimensions(x.operand(0)->shape()) ? x.operand(0) : nullptr;
}

Instruction* DynamicUpdateOfEverything(Instruction& x, GraphBuilder&) {
  return x.shape().SameDimensions(x.operand(1)->shape()) ? x.operand(1) : nullptr;
}

// Where a dynamic slice takes a whole dimension its index is clamped to 0, whatever it is.
Instruction* IndexOfWholeDimension(Instruction& x, GraphBuilder& build) {
  if (!HasScalarIndices(x)) return nullptr;
  const Shape& part = x.opcode() == Opcode::kDynamicSlice ? x.shape() : x.operand(1)->shape();
  const int64_t first = FirstIndexOperand(x);
  std::vector<Instruction*> operands(x.operands().begin(), x.operands().end());
  Instruction* zero = nullptr;
  for (int64_t d = 0; d < part.rank(); ++d) {
    if (part.dimensions[d] != x.operand(0)->shape().dimensions[d]) continue;
    if (operands[first + d]->opcode() == Opcode::kConstant) continue;
    if (zero == nullptr) zero = build.Scalar(operands[first + d]->shape().element_type, 0);
    if (zero->shape().element_type != operands[first + d]->shape().element_type) return nullptr;
    operands[first + d] = zero;
  }
  if (zero == nullptr) return nullptr;
  return build.Add(x.opcode(), Shape::Array(x.shape().element_type, x.shape().dimensions), std::move(operands),
                   x.all_attributes());
}

Instruction* DynamicSliceAtConstants(Instruction& x, GraphBuilder& build) {
  if (!HasScalarIndices(x)) return nullptr;
  std::vector<SliceDimension> slice;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const Literal* index = KnownLiteral(*x.operand(1 + d));
    if (index == nullptr) return nullptr;
    const int64_t size = x.shape().dimensions[d];
    // u64 beyond s64 reads as negative here; XLA clamps it to the end.
    if (index->shape().element_type == PrimitiveType::kU64 && index->GetInteger(0) < 0) return nullptr;
    const int64_t start = std::clamp<int64_t>(index->GetInteger(0), 0, x.operand(0)->shape().dimensions[d] - size);
    slice.push_back({start, start + size, 1});
  }
  return build.Slice(x.operand(0), std::move(slice));
}

Instruction* DynamicSliceOfScalarBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& broadcast = *x.operand(0);
  if (broadcast.opcode() != Opcode::kBroadcast || !broadcast.operand(0)->shape().IsScalar()) return nullptr;
  return build.BroadcastScalar(broadcast.operand(0), x.shape());
}

const std::vector<PadDimension>& PaddingOf(const Instruction& x) { return x.attributes<PadAttributes>().dimensions; }

Instruction* PadNothing(Instruction& x, GraphBuilder&) {
  const bool nothing =
      std::all_of(PaddingOf(x).begin(), PaddingOf(x).end(), [](const PadDimension& d) { return d == PadDimension{}; });
  return nothing ? x.operand(0) : nullptr;
}

// Negative padding crops: a slice says so, and other rules know slices.
Instruction* PadThatCrops(Instruction& x, GraphBuilder& build) {
  std::vector<PadDimension> padding = PaddingOf(x);
  std::vector<SliceDimension> slice;
  Dimensions padded_dimensions;
  bool crops = false, pads = false;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const int64_t low = std::min<int64_t>(padding[d].low, 0), high = std::min<int64_t>(padding[d].high, 0);
    crops |= low < 0 || high < 0;
    padding[d].low -= low;
    padding[d].high -= high;
    pads |= padding[d] != PadDimension{};
    const int64_t size = x.shape().dimensions[d] - low - high;
    padded_dimensions.push_back(size);
    slice.push_back({-low, size + high, 1});
  }
  if (!crops || x.shape().ElementCount() == 0) return nullptr;
  Instruction* padded = x.operand(0);
  if (pads) {
    padded = build.Add(Opcode::kPad, Shape::Array(x.shape().element_type, std::move(padded_dimensions)),
                       {x.operand(0), x.operand(1)}, PadAttributes{std::move(padding)});
  }
  return build.Slice(padded, std::move(slice));
}

// Padding an array of one value with that value.
Instruction* PadOfSameValue(Instruction& x, GraphBuilder& build) {
  const Instruction& array = *x.operand(0);
  if (array.opcode() != Opcode::kBroadcast || !array.operand(0)->shape().IsScalar()) return nullptr;
  const Instruction* value = array.operand(0);
  const Literal* a = UniformLiteral(*value);
  const Literal* b = UniformLiteral(*x.operand(1));
  const bool same = value == x.operand(1) || (a && b && ElementLiteral(*a, 0) == ElementLiteral(*b, 0));
  return same ? build.BroadcastScalar(x.operand(1), x.shape()) : nullptr;
}

Instruction* PadOfPad(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kPad || inner.operand(1) != x.operand(1) || inner.user_count() > 1) return nullptr;
  std::vector<PadDimension> joined;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const PadDimension& a = PaddingOf(inner)[d];
    const PadDimension& b = PaddingOf(x)[d];
    if (a.low < 0 || a.high < 0 || b.low < 0 || b.high < 0 || b.interior != 0) return nullptr;
    joined.push_back({a.low + b.low, a.high + b.high, a.interior});
  }
  return build.Add(Opcode::kPad, Shape::Array(x.shape().element_type, x.shape().dimensions),
                   {inner.operand(0), x.operand(1)}, PadAttributes{std::move(joined)});
}

Instruction* ConcatenateOne(Instruction& x, GraphBuilder&) { return x.operand_count() == 1 ? x.operand(0) : nullptr; }

Instruction* NewConcatenate(Instruction& x, std::vector<Instruction*> operands, GraphBuilder& build) {
  if (operands.size() == 1) return operands[0];
  return build.Add(Opcode::kConcatenate, Shape::Array(x.shape().element_type, x.shape().dimensions),
                   std::move(operands), x.all_attributes());
}

Instruction* ConcatenateWithoutEmpty(Instruction& x, GraphBuilder& build) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : x.operands()) {
    if (operand->shape().ElementCount() > 0) operands.push_back(operand);
  }
  if (operands.empty() || static_cast<int64_t>(operands.size()) == x.operand_count()) return nullptr;
  return NewConcatenate(x, std::move(operands), build);
}

Instruction* ConcatenateOfConcatenate(Instruction& x, GraphBuilder& build) {
  std::vector<Instruction*> operands;
  bool changed = false;
  for (Instruction* operand : x.operands()) {
    if (operand->opcode() == Opcode::kConcatenate && operand->user_count() == 1 &&
        DimensionsOf(*operand) == DimensionsOf(x)) {
      operands.insert(operands.end(), operand->operands().begin(), operand->operands().end());
      changed = true;
    } else {
      operands.push_back(operand);
    }
  }
  // Bounded, so that a long chain of concatenations is not copied over and over.
  constexpr size_t kMostOperands = 64;
  if (!changed || operands.size() > kMostOperands) return nullptr;
  return NewConcatenate(x, std::move(operands), build);
}

// Whether b continues a along the dimension: two slices of one array that are one slice.
bool Continues(const Instruction& a, const Instruction& b, int64_t dimension) {
  if (a.opcode() != Opcode::kSlice || b.opcode() != Opcode::kSlice || a.operand(0) != b.operand(0)) return false;
  for (int64_t d = 0; d < a.shape().rank(); ++d) {
    const SliceDimension& s = SliceOf(a)[d];
    const SliceDimension& t = SliceOf(b)[d];
    if (s.stride != t.stride || (d == dimension && s.stride != 1)) return false;
    if (d == dimension ? s.limit != t.start : s != t) return false;
  }
  return true;
}

Instruction* ConcatenateOfAdjacentSlices(Instruction& x, GraphBuilder& build) {
  const int64_t dimension = DimensionsOf(x)[0];
  bool any = false;
  for (int64_t i = 1; i < x.operand_count(); ++i) any |= Continues(*x.operand(i - 1), *x.operand(i), dimension);
  if (!any) return nullptr;
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < x.operand_count();) {
    int64_t end = i + 1;
    while (end < x.operand_count() && Continues(*x.operand(end - 1), *x.operand(end), dimension)) ++end;
    if (end == i + 1) {
      operands.push_back(x.operand(i));
    } else {
      std::vector<SliceDimension> joined = SliceOf(*x.operand(i));
      joined[dimension].limit = SliceOf(*x.operand(end - 1))[dimension].limit;
      operands.push_back(build.Slice(x.operand(i)->operand(0), std::move(joined)));
    }
    i = end;
  }
  return NewConcatenate(x, std::move(operands), build);
}

// All parts are one scalar, broadcast.
Instruction* ConcatenateOfOneScalar(Instruction& x, GraphBuilder& build) {
  for (const Instruction* operand : x.operands()) {
    if (operand->opcode() != Opcode::kBroadcast || !operand->operand(0)->shape().IsScalar() ||
        operand->operand(0) != x.operand(0)->operand(0)) {
      return nullptr;
    }
  }
  return build.BroadcastScalar(x.operand(0)->operand(0), x.shape());
}

// Reversing dimensions of size 1 does nothing.
Instruction* ReverseOfOnes(Instruction& x, GraphBuilder& build) {
  Dimensions kept;
  for (int64_t d : DimensionsOf(x)) {
    if (x.shape().dimensions[d] != 1) kept.push_back(d);
  }
  if (kept.empty()) return x.operand(0);
  if (kept.size() == DimensionsOf(x).size()) return nullptr;
  return build.Add(Opcode::kReverse, Shape::Array(x.shape().element_type, x.shape().dimensions), {x.operand(0)},
                   DimensionsAttributes{std::move(kept)});
}

Instruction* ReverseOfReverse(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kReverse) return nullptr;
  Dimensions once;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (absl::c_linear_search(DimensionsOf(x), d) != absl::c_linear_search(DimensionsOf(inner), d)) once.push_back(d);
  }
  if (once.empty()) return inner.operand(0);
  return build.Add(Opcode::kReverse, Shape::Array(x.shape().element_type, x.shape().dimensions), {inner.operand(0)},
                   DimensionsAttributes{std::move(once)});
}

Instruction* ReverseOfBroadcast(Instruction& x, GraphBuilder&) {
  Instruction& broadcast = *x.operand(0);
  if (broadcast.opcode() != Opcode::kBroadcast) return nullptr;
  for (int64_t d : DimensionsOf(x)) {
    if (absl::c_linear_search(DimensionsOf(broadcast), d)) return nullptr;
  }
  return x.operand(0);
}

// gather(transpose(y)) -> gather(y), where a slice has whole lines of y and its dimensions keep their order.
Instruction* GatherOfTranspose(Instruction& x, GraphBuilder& build) {
  Instruction& transpose = *x.operand(0);
  if (transpose.opcode() != Opcode::kTranspose) return nullptr;
  const Dimensions& from = DimensionsOf(transpose);
  const Shape& y = transpose.operand(0)->shape();
  GatherAttributes gather = x.attributes<GatherAttributes>();
  Dimensions window, sizes(from.size());
  for (size_t d = 0; d < from.size(); ++d) {
    sizes[from[d]] = gather.slice_sizes[d];
    const bool is_dropped =
        absl::c_linear_search(gather.collapsed_slice_dims, d) || absl::c_linear_search(gather.operand_batching_dims, d);
    if (!is_dropped) window.push_back(from[d]);
  }
  const int64_t last = y.rank() - 1;
  const bool has_lines =
      !window.empty() && window.back() == last && sizes[last] == y.dimensions[last] && sizes[last] > 1;
  if (!has_lines || !absl::c_is_sorted(window)) return nullptr;
  gather.slice_sizes = sizes;
  for (Dimensions* list : {&gather.collapsed_slice_dims, &gather.start_index_map, &gather.operand_batching_dims}) {
    for (int64_t& d : *list) d = from[d];
  }
  absl::c_sort(gather.collapsed_slice_dims);
  if (!absl::c_is_sorted(gather.operand_batching_dims)) return nullptr;
  return build.Add(Opcode::kGather, Shape::Array(x.shape().element_type, x.shape().dimensions),
                   {transpose.operand(0), x.operand(1)}, std::move(gather));
}

constexpr Rule kRules[] = {
    {"slice-everything", Opcode::kSlice, SliceOfEverything},
    {"slice-slice", Opcode::kSlice, SliceOfSlice},
    {"slice-broadcast", Opcode::kSlice, SliceOfBroadcast},
    {"slice-concatenate", Opcode::kSlice, SliceOfConcatenate},
    {"slice-pad", Opcode::kSlice, SliceOfPad},
    {"slice-iota", Opcode::kSlice, SliceOfIota},
    {"dynamic-slice-everything", Opcode::kDynamicSlice, DynamicSliceOfEverything},
    {"dynamic-slice-constants", Opcode::kDynamicSlice, DynamicSliceAtConstants},
    {"dynamic-slice-broadcast", Opcode::kDynamicSlice, DynamicSliceOfScalarBroadcast},
    {"dynamic-slice-whole-dimension", Opcode::kDynamicSlice, IndexOfWholeDimension},
    {"dynamic-update-everything", Opcode::kDynamicUpdateSlice, DynamicUpdateOfEverything},
    {"dynamic-update-whole-dimension", Opcode::kDynamicUpdateSlice, IndexOfWholeDimension},
    {"pad-nothing", Opcode::kPad, PadNothing},
    {"pad-crops", Opcode::kPad, PadThatCrops},
    {"pad-same-value", Opcode::kPad, PadOfSameValue},
    {"pad-pad", Opcode::kPad, PadOfPad},
    {"concatenate-one", Opcode::kConcatenate, ConcatenateOne},
    {"concatenate-empty", Opcode::kConcatenate, ConcatenateWithoutEmpty},
    {"concatenate-concatenate", Opcode::kConcatenate, ConcatenateOfConcatenate},
    {"concatenate-slices", Opcode::kConcatenate, ConcatenateOfAdjacentSlices},
    {"concatenate-scalar", Opcode::kConcatenate, ConcatenateOfOneScalar},
    {"gather-transpose", Opcode::kGather, GatherOfTranspose},
    {"reverse-ones", Opcode::kReverse, ReverseOfOnes},
    {"reverse-reverse", Opcode::kReverse, ReverseOfReverse},
    {"reverse-broadcast", Opcode::kReverse, ReverseOfBroadcast},
};

}  // namespace

absl::Span<const Rule> MovementRules() { return kRules; }

}  // namespace smelt::hlo

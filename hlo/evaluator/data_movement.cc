#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

constexpr double kSecondsPerByte = 0.3e-9;

// Copies into a new array of the call's shape, the work split over the outermost dimension when it is worth it.
absl::StatusOr<Value> CopyIntoNew(const Call& call, const Value& source, std::vector<int64_t> source_strides,
                                  int64_t source_offset) {
  const Shape& shape = call.shape();
  const int64_t bytes = StorageBytes(shape.element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  StridedCopy copy{shape.dimensions, std::move(source_strides), shape.Strides(), source_offset, 0};
  if (shape.rank() == 0) {
    RunStridedCopy(copy, bytes, source.array().raw(), result->raw());
    return Value(std::move(result));
  }
  // The first dimension that is not 1 is split.
  size_t split = 0;
  while (split + 1 < copy.sizes.size() && copy.sizes[split] == 1) ++split;
  const int64_t rows = copy.sizes[split];
  const int64_t row_bytes = rows == 0 ? 0 : result->byte_size() / rows;
  call.evaluation.ParallelFor(rows, static_cast<double>(row_bytes) * kSecondsPerByte, [&](int64_t begin, int64_t end) {
    StridedCopy part = copy;
    part.sizes[split] = end - begin;
    part.source_offset += begin * copy.source_strides[split];
    part.target_offset += begin * copy.target_strides[split];
    RunStridedCopy(part, bytes, source.array().raw(), result->raw());
  });
  return Value(std::move(result));
}

// Strides of the elements of a shape in the order in which its layout has them in memory.
std::vector<int64_t> PhysicalStrides(const Shape& shape) {
  if (shape.HasDefaultLayout() || shape.layout->minor_to_major.size() != shape.dimensions.size())
    return shape.Strides();
  std::vector<int64_t> strides(shape.dimensions.size());
  int64_t stride = 1;
  for (int64_t d : shape.layout->minor_to_major) {
    strides[d] = stride;
    stride *= shape.dimensions[d];
  }
  return strides;
}

absl::StatusOr<Value> Reshaped(const Call& call) {
  Value& operand = call.operand(0);
  if (operand.IsUnique()) {
    std::shared_ptr<Literal> array = operand.TakeArray();
    array->Reshape(call.shape().dimensions);
    return Value(std::move(array));
  }
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(call.shape()));
  std::memcpy(result->raw(), operand.array().raw(), result->byte_size());
  return Value(std::move(result));
}

// The elements as one stream of bits, low bits first: how narrow elements pack into wide ones.
absl::StatusOr<Value> Repacked(const Call& call) {
  const Literal& source = call.operand(0).array();
  const int from = BitWidth(source.shape().element_type), to = BitWidth(call.shape().element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewZeroArray(call.shape()));
  const int64_t total = std::min(source.element_count() * from, call.shape().ElementCount() * to);
  const auto* source_bytes = static_cast<const uint8_t*>(source.raw());
  auto* result_bytes = static_cast<uint8_t*>(result->raw());
  const int64_t from_bytes = StorageBytes(source.shape().element_type),
                to_bytes = StorageBytes(call.shape().element_type);
  for (int64_t bit = 0; bit < total; ++bit) {
    const int64_t at = bit / from * from_bytes * 8 + bit % from;
    if (source_bytes[at / 8] >> (at % 8) & 1) {
      const int64_t target = bit / to * to_bytes * 8 + bit % to;
      result_bytes[target / 8] |= static_cast<uint8_t>(1 << (target % 8));
    }
  }
  if (IsSigned(call.shape().element_type) && to < 8) {
    for (int64_t i = 0; i < result->element_count(); ++i) result->SetInteger(i, result_bytes[i]);  // extends the sign
  }
  return Value(std::move(result));
}

absl::StatusOr<Value> SameBits(const Call& call) {
  const Shape& from = call.operand(0).shape();
  const Shape& to = call.shape();
  if (BitWidth(from.element_type) < 8 || BitWidth(to.element_type) < 8) return Repacked(call);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(to));
  if (result->byte_size() != call.operand(0).array().byte_size())
    return absl::InvalidArgumentError("changes the number of bytes");
  std::memcpy(result->raw(), call.operand(0).array().raw(), result->byte_size());
  return Value(std::move(result));
}

}  // namespace

absl::StatusOr<Value> EvaluateBroadcast(const Call& call) {
  const std::vector<int64_t>& dimensions = call.instruction.attributes<DimensionsAttributes>().dimensions;
  const Shape& operand = call.operand(0).shape();
  std::vector<int64_t> strides(call.shape().rank(), 0);
  const std::vector<int64_t> operand_strides = operand.Strides();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    // A dimension of size one may stand for any size: its stride stays 0.
    if (operand.dimensions[i] != 1) strides[dimensions[i]] = operand_strides[i];
  }
  return CopyIntoNew(call, call.operand(0), std::move(strides), 0);
}

absl::StatusOr<Value> EvaluateTranspose(const Call& call) {
  const std::vector<int64_t>& permutation = call.instruction.attributes<DimensionsAttributes>().dimensions;
  const std::vector<int64_t> operand_strides = call.operand(0).shape().Strides();
  std::vector<int64_t> strides;
  for (int64_t d : permutation) strides.push_back(operand_strides[d]);
  return CopyIntoNew(call, call.operand(0), std::move(strides), 0);
}

absl::StatusOr<Value> EvaluateReshape(const Call& call) {
  if (call.shape().ElementCount() != call.operand(0).shape().ElementCount()) {
    return absl::UnimplementedError(
        absl::StrCat("reshapes ", call.operand(0).shape().ToString(), " to ", call.shape().ToString()));
  }
  return Reshaped(call);
}

// The bytes in memory stay; with layouts other than the default on either side, elements therefore change their logical
// places.
absl::StatusOr<Value> EvaluateBitcast(const Call& call) {
  const Shape& from = call.instruction.operand(0)->shape();
  const Shape& to = call.shape();
  const bool same_type = from.element_type == to.element_type;
  if (from.HasDefaultLayout() && to.HasDefaultLayout()) {
    return same_type && from.ElementCount() == to.ElementCount() ? Reshaped(call) : SameBits(call);
  }
  if (from.ElementCount() != to.ElementCount() || StorageBytes(from.element_type) != StorageBytes(to.element_type)) {
    return absl::UnimplementedError("a bitcast that changes both the element size and the layout");
  }
  const int64_t bytes = StorageBytes(to.element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> memory,
                         call.evaluation.NewScratch(to.element_type, to.ElementCount()));
  RunStridedCopy({from.dimensions, from.Strides(), PhysicalStrides(from)}, bytes, call.operand(0).array().raw(),
                 memory->raw());
  return CopyIntoNew(call, Value(std::move(memory)), PhysicalStrides(to), 0);
}

absl::StatusOr<Value> EvaluateBitcastConvert(const Call& call) { return SameBits(call); }

absl::StatusOr<Value> EvaluateSlice(const Call& call) {
  const std::vector<SliceDimension>& dimensions = call.instruction.attributes<SliceAttributes>().dimensions;
  std::vector<int64_t> strides = call.operand(0).shape().Strides();
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += dimensions[d].start * strides[d];
    strides[d] *= dimensions[d].stride;
  }
  return CopyIntoNew(call, call.operand(0), std::move(strides), offset);
}

absl::StatusOr<Value> EvaluateReverse(const Call& call) {
  std::vector<int64_t> strides = call.operand(0).shape().Strides();
  int64_t offset = 0;
  for (int64_t d : call.instruction.attributes<DimensionsAttributes>().dimensions) {
    offset += (call.shape().dimensions[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return CopyIntoNew(call, call.operand(0), std::move(strides), offset);
}

absl::StatusOr<Value> EvaluateConcatenate(const Call& call) {
  const Shape& shape = call.shape();
  const int64_t dimension = call.instruction.attributes<DimensionsAttributes>().dimensions[0];
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const std::vector<int64_t> strides = shape.Strides();
  int64_t offset = 0;
  for (const Value& operand : call.operands) {
    RunStridedCopy({operand.shape().dimensions, operand.shape().Strides(), strides, 0, offset},
                   StorageBytes(shape.element_type), operand.array().raw(), result->raw());
    offset += operand.shape().dimensions[dimension] * strides[dimension];
  }
  return Value(std::move(result));
}

absl::StatusOr<Value> EvaluatePad(const Call& call) {
  const Shape& shape = call.shape();
  const Shape& operand = call.operand(0).shape();
  const std::vector<PadDimension>& padding = call.instruction.attributes<PadAttributes>().dimensions;
  const int64_t bytes = StorageBytes(shape.element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  RunStridedCopy({shape.dimensions, std::vector<int64_t>(shape.rank(), 0), shape.Strides()}, bytes,
                 call.operand(1).array().raw(), result->raw());
  StridedCopy copy{operand.dimensions, operand.Strides(), shape.Strides()};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    // Negative padding crops: only operand elements first..last land inside.
    const int64_t step = padding[d].interior + 1;
    const int64_t low = padding[d].low;
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = shape.dimensions[d] - 1 - low;
    const int64_t last = room < 0 ? -1 : std::min(operand.dimensions[d] - 1, room / step);
    copy.sizes[d] = std::max<int64_t>(0, last - first + 1);
    copy.source_offset += first * copy.source_strides[d];
    copy.target_offset += (low + first * step) * copy.target_strides[d];
    copy.target_strides[d] *= step;
  }
  RunStridedCopy(copy, bytes, call.operand(0).array().raw(), result->raw());
  return Value(std::move(result));
}

absl::StatusOr<Value> EvaluateIota(const Call& call) {
  const Shape& shape = call.shape();
  const int64_t dimension = call.instruction.attributes<IotaAttributes>().dimension;
  const int64_t size = shape.dimensions[dimension];
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> line, call.evaluation.NewScratch(shape.element_type, size));
  for (int64_t i = 0; i < size; ++i) {
    // Through f32 for small floats, as a conversion from an integer would go.
    if (IsInteger(shape.element_type)) {
      line->SetInteger(i, i);
    } else {
      line->SetDouble(i, static_cast<double>(i));
    }
  }
  std::vector<int64_t> strides(shape.rank(), 0);
  strides[dimension] = 1;
  return CopyIntoNew(call, Value(std::move(line)), std::move(strides), 0);
}

}  // namespace smelt::hlo

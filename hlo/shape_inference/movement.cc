// Operations that move or rename elements.
#include <algorithm>

#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

bool IsDynamicAt(const Shape& shape, size_t dimension) { return !shape.dynamic.empty() && shape.dynamic[dimension]; }

absl::Status ExpectSameType(const Request& request, const Shape& declared) {
  if (declared.element_type == request.shape(0).element_type) return absl::OkStatus();
  return Refuse(request, "the element type must stay that of ", Describe(request, 0), ", the result is ",
                declared.ToString());
}

// Start indices of dynamic slices: one scalar for each dimension, or, in old texts, one vector.
absl::Status ExpectIndices(const Request& request, int64_t first, int64_t rank) {
  const int64_t count = request.operand_count() - first;
  if (count == 1 && request.shape(first).IsArray() && request.shape(first).rank() == 1) {
    if (IsInteger(request.shape(first).element_type) && SizesAgree(request.shape(first).dimensions[0], rank))
      return absl::OkStatus();
    return Refuse(request, "the start indices must be ", rank, " integers, are ", Describe(request, first));
  }
  if (count != rank) return Refuse(request, "takes a start index for each of ", rank, " dimensions, has ", count);
  for (int64_t i = first; i < request.operand_count(); ++i) {
    if (!request.shape(i).IsScalar() || !IsInteger(request.shape(i).element_type)) {
      return Refuse(request, "start indices must be integer scalars, operand ", i, " is ", Describe(request, i));
    }
    if (request.shape(i).element_type != request.shape(first).element_type) {
      return Refuse(request, "start indices must have the same type, are ", Describe(request, first), " and ",
                    Describe(request, i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> Reshape(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_ASSIGN_OR_RETURN(Shape declared, DeclaredArray(request));
  SMELT_RETURN_IF_ERROR(ExpectSameType(request, declared));
  if (!IsUnbounded(declared) && !IsUnbounded(request.shape(0)) &&
      declared.ElementCount() != request.shape(0).ElementCount()) {
    return Refuse(request, "the number of elements must stay ", request.shape(0).ElementCount(), ", that of ",
                  Describe(request, 0), ", but ", declared.ToString(), " has ", declared.ElementCount());
  }
  return declared;
}

absl::StatusOr<Shape> DynamicReshape(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, DeclaredArray(request));
  if (request.operands.empty()) return Refuse(request, "takes an array and a size for each dimension of the result");
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectSameType(request, declared));
  if (request.operand_count() - 1 != declared.rank()) {
    return Refuse(request, "takes one dimension size for each result dimension: ", declared.rank(), ", has ",
                  request.operand_count() - 1);
  }
  for (int64_t i = 1; i < request.operand_count(); ++i) {
    if (!request.shape(i).IsScalar() || request.shape(i).element_type != PrimitiveType::kS32) {
      return Refuse(request, "dimension sizes must be s32 scalars, operand ", i, " is ", Describe(request, i));
    }
  }
  if (request.shape(0).ElementCount() != declared.ElementCount() && !IsUnbounded(request.shape(0)) &&
      !IsUnbounded(declared)) {
    return Refuse(request, "the result ", declared.ToString(), " must have as many elements as ", Describe(request, 0));
  }
  return declared;
}

// The same bytes under another shape: both sides have as many, whatever their types.
absl::StatusOr<Shape> Bitcast(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  const Shape& operand = request.shape(0);
  if (!operand.IsArray() || !declared.IsArray()) {
    if (operand.SameAs(declared)) return declared;
    return Refuse(request, "cannot make ", declared.ToString(), " of ", Describe(request, 0));
  }
  const __int128 before = static_cast<__int128>(operand.ElementCount()) * BitWidth(operand.element_type);
  const __int128 after = static_cast<__int128>(declared.ElementCount()) * BitWidth(declared.element_type);
  if (before != after && !IsUnbounded(operand) && !IsUnbounded(declared)) {
    return Refuse(request, "the number of bits must stay that of ", Describe(request, 0), ", but the result is ",
                  declared.ToString());
  }
  return declared;
}

absl::StatusOr<Shape> Broadcast(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_ASSIGN_OR_RETURN(Shape declared, DeclaredArray(request));
  SMELT_RETURN_IF_ERROR(ExpectSameType(request, declared));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  const Shape& operand = request.shape(0);
  if (static_cast<int64_t>(dimensions.size()) != operand.rank()) {
    return Refuse(request, "dimensions ", ToString(dimensions), " must have one entry for each dimension of ",
                  Describe(request, 0));
  }
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dimensions", dimensions, declared.rank()));
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (!SizesAgree(operand.dimensions[i], declared.dimensions[dimensions[i]])) {
      return Refuse(request, "dimension ", dimensions[i], " of the result ", declared.ToString(),
                    " must be as large as dimension ", i, " of ", Describe(request, 0));
    }
  }
  return declared;
}

absl::StatusOr<Shape> Transpose(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  const Shape& operand = request.shape(0);
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dimensions", dimensions, operand.rank()));
  if (static_cast<int64_t>(dimensions.size()) != operand.rank()) {
    return Refuse(request, "dimensions ", ToString(dimensions), " must be a permutation of the dimensions of ",
                  Describe(request, 0));
  }
  Shape shape = Shape::Array(operand.element_type, {});
  for (int64_t d : dimensions) {
    shape.dimensions.push_back(operand.dimensions[d]);
    if (!operand.dynamic.empty()) shape.dynamic.push_back(operand.dynamic[d]);
  }
  return shape;
}

absl::StatusOr<Shape> Slice(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const std::vector<SliceDimension>& slices = request.Get<SliceAttributes>().dimensions;
  const Shape& operand = request.shape(0);
  if (static_cast<int64_t>(slices.size()) != operand.rank()) {
    return Refuse(request, "takes a range for each dimension of ", Describe(request, 0), ", has ", slices.size());
  }
  Shape shape = Shape::Array(operand.element_type, {});
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const SliceDimension& slice = slices[i];
    const bool known = operand.dimensions[i] != kUnboundedSize;
    if (slice.start < 0 || slice.limit < slice.start || slice.stride <= 0 ||
        (known && slice.limit > operand.dimensions[i])) {
      return Refuse(request, "range [", slice.start, ":", slice.limit, ":", slice.stride,
                    "] must lie within dimension ", i, " of ", Describe(request, 0), ", with a positive stride");
    }
    const int64_t span = slice.limit - slice.start;
    shape.dimensions.push_back(span / slice.stride + (span % slice.stride != 0));
  }
  return shape;
}

absl::StatusOr<Shape> DynamicSlice(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an array and start indices");
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const Shape& operand = request.shape(0);
  SMELT_RETURN_IF_ERROR(ExpectIndices(request, 1, operand.rank()));
  const std::vector<int64_t>& sizes = request.Get<DynamicSliceAttributes>().sizes;
  if (static_cast<int64_t>(sizes.size()) != operand.rank()) {
    return Refuse(request, "dynamic_slice_sizes ", ToString(sizes), " must have one size for each dimension of ",
                  Describe(request, 0));
  }
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (sizes[i] < 0 || (operand.dimensions[i] != kUnboundedSize && sizes[i] > operand.dimensions[i])) {
      return Refuse(request, "slice size ", sizes[i], " must be from 0 to the size of dimension ", i, " of ",
                    Describe(request, 0));
    }
  }
  return Shape::Array(operand.element_type, sizes);
}

absl::StatusOr<Shape> DynamicUpdateSlice(const Request& request) {
  if (request.operand_count() < 2) return Refuse(request, "takes an array, an update and start indices");
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape &operand = request.shape(0), &update = request.shape(1);
  SMELT_RETURN_IF_ERROR(ExpectIndices(request, 2, operand.rank()));
  if (update.rank() != operand.rank() || update.element_type != operand.element_type) {
    return Refuse(request, "the update must have type and rank of ", Describe(request, 0), ", is ",
                  Describe(request, 1));
  }
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (operand.dimensions[i] != kUnboundedSize && update.dimensions[i] > operand.dimensions[i]) {
      return Refuse(request, "the update must fit into ", Describe(request, 0), ", is ", Describe(request, 1));
    }
  }
  return operand;
}

absl::StatusOr<Shape> Pad(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape& operand = request.shape(0);
  if (!request.shape(1).IsScalar() || request.shape(1).element_type != operand.element_type) {
    return Refuse(request, "the padding value must be a scalar of the type of ", Describe(request, 0), ", is ",
                  Describe(request, 1));
  }
  const std::vector<PadDimension>& padding = request.Get<PadAttributes>().dimensions;
  if (static_cast<int64_t>(padding.size()) != operand.rank()) {
    return Refuse(request, "takes a padding for each dimension of ", Describe(request, 0), ", has ", padding.size());
  }
  Shape shape = Shape::Array(operand.element_type, {});
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const PadDimension& p = padding[i];
    if (p.interior < 0)
      return Refuse(request, "interior padding must not be negative, is ", p.interior, " in dimension ", i);
    if (operand.dimensions[i] == kUnboundedSize) {
      shape.dimensions.push_back(kUnboundedSize);
      continue;
    }
    const __int128 size = static_cast<__int128>(operand.dimensions[i]) + p.low + p.high +
                          static_cast<__int128>(p.interior) * std::max<int64_t>(operand.dimensions[i] - 1, 0);
    if (size < 0 || size > INT64_MAX / 2) {
      return Refuse(request, "padding ", p.low, "_", p.high, "_", p.interior, " of dimension ", i, " of ",
                    Describe(request, 0), " gives no possible size");
    }
    shape.dimensions.push_back(static_cast<int64_t>(size));
  }
  if (operand.IsDynamic()) {
    for (int64_t i = 0; i < operand.rank(); ++i) shape.dynamic.push_back(IsDynamicAt(operand, i));
  }
  return Sized(request, shape);
}

absl::StatusOr<Shape> Concatenate(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an operand at least");
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  Shape shape = request.shape(0);
  shape.layout.reset();
  if (dimensions.size() != 1 || dimensions[0] < 0 || dimensions[0] >= shape.rank()) {
    return Refuse(request, "dimensions ", ToString(dimensions), " must be one dimension of ", Describe(request, 0));
  }
  const int64_t along = dimensions[0];
  for (int64_t i = 1; i < request.operand_count(); ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    const Shape& next = request.shape(i);
    bool same = next.rank() == shape.rank() && next.element_type == shape.element_type;
    for (int64_t d = 0; same && d < shape.rank(); ++d)
      same = d == along || SizesAgree(next.dimensions[d], shape.dimensions[d]);
    if (!same) {
      return Refuse(request, "operands must be alike but for dimension ", along, ", are ", Describe(request, 0),
                    " and ", Describe(request, i));
    }
    if (shape.dimensions[along] == kUnboundedSize || next.dimensions[along] == kUnboundedSize) {
      shape.dimensions[along] = kUnboundedSize;
    } else if (__builtin_add_overflow(shape.dimensions[along], next.dimensions[along], &shape.dimensions[along])) {
      return Refuse(request, "dimension ", along, " of the result does not fit in 64 bits");
    }
  }
  return Sized(request, shape);
}

absl::StatusOr<Shape> Reverse(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(
      ExpectDistinct(request, "dimensions", request.Get<DimensionsAttributes>().dimensions, request.shape(0).rank()));
  return request.shape(0);
}

absl::StatusOr<Shape> Iota(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, DeclaredArray(request));
  const int64_t dimension = request.Get<IotaAttributes>().dimension;
  if (dimension < 0 || dimension >= declared.rank()) {
    return Refuse(request, "iota_dimension ", dimension, " must be a dimension of ", declared.ToString());
  }
  if (declared.element_type == PrimitiveType::kPred) return Refuse(request, "counts in numbers, not in pred");
  return declared;
}

absl::StatusOr<Shape> GetDimensionSize(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dimensions", dimensions, request.shape(0).rank()));
  if (dimensions.size() != 1) return Refuse(request, "takes one dimension, has ", dimensions.size());
  return Shape::Scalar(PrimitiveType::kS32);
}

absl::StatusOr<Shape> SetDimensionSize(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dimensions", dimensions, request.shape(0).rank()));
  if (dimensions.size() != 1) return Refuse(request, "takes one dimension, has ", dimensions.size());
  if (!request.shape(1).IsScalar() || request.shape(1).element_type != PrimitiveType::kS32) {
    return Refuse(request, "the size must be an s32 scalar, is ", Describe(request, 1));
  }
  Shape shape = request.shape(0);
  shape.dynamic.resize(shape.rank());
  shape.dynamic[dimensions[0]] = true;
  return shape;
}

}  // namespace smelt::hlo::shape_inference

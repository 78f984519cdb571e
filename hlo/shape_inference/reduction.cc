// Reductions, windows, batch normalisation, scan, sort and top-k.
#include <algorithm>

#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {

absl::Status ExpectWindow(const Request& request, const Window& window, int64_t rank) {
  if (static_cast<int64_t>(window.dimensions.size()) != rank) {
    return Refuse(request, "the window must have ", rank, " dimensions, has ", window.dimensions.size());
  }
  for (int64_t i = 0; i < rank; ++i) {
    const WindowDimension& w = window.dimensions[i];
    if (w.size < 0 || w.stride <= 0 || w.window_dilation <= 0 || w.base_dilation <= 0) {
      return Refuse(request, "dimension ", i,
                    " of the window must have a size of 0 or more and positive stride and dilations, has size ", w.size,
                    ", stride ", w.stride, ", dilations ", w.base_dilation, " and ", w.window_dilation);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> WindowPositions(const Request& request, int64_t size, const WindowDimension& window,
                                        int64_t dimension) {
  if (size == kUnboundedSize) return kUnboundedSize;
  const auto dilated = [](__int128 count, int64_t dilation) { return count == 0 ? count : (count - 1) * dilation + 1; };
  const __int128 padded = dilated(size, window.base_dilation) + window.padding_low + window.padding_high;
  const __int128 extent = dilated(window.size, window.window_dilation);
  if (padded < 0 || padded > (static_cast<__int128>(1) << 60) || extent > (static_cast<__int128>(1) << 60)) {
    return Refuse(request, "dimension ", dimension, " of size ", size, " cannot be padded by ", window.padding_low,
                  " and ", window.padding_high, " under a window of ", window.size);
  }
  if (extent > padded || extent == 0) return 0;
  return static_cast<int64_t>((padded - extent) / window.stride) + 1;
}

absl::Status ExpectReducer(const Request& request, const Computation& reducer, absl::Span<const PrimitiveType> types) {
  const size_t n = types.size();
  const std::vector<Instruction*> parameters = reducer.Parameters();
  if (parameters.size() != 2 * n) {
    return Refuse(request, "computation `", reducer.name(), "` must take ", 2 * n, " parameters, takes ",
                  parameters.size());
  }
  const Shape& root = reducer.root()->shape();
  const bool tuple = root.IsTuple();
  if ((tuple ? root.tuple_shapes.size() : 1) != n) {
    return Refuse(request, "computation `", reducer.name(), "` must give ", n, " values, gives ", root.ToString());
  }
  for (size_t i = 0; i < 2 * n; ++i) {
    if (parameters[i] == nullptr) return Refuse(request, "computation `", reducer.name(), "` has no parameter ", i);
    const Shape& shape = parameters[i]->shape();
    const PrimitiveType wanted = types[i % n];
    if (!shape.IsScalar() || shape.element_type != wanted) {
      return Refuse(request, "parameter ", i, " of computation `", reducer.name(), "` must be ",
                    PrimitiveTypeName(wanted), "[], is ", shape.ToString());
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const Shape& result = tuple ? root.tuple_shapes[i] : root;
    if (!result.IsScalar() || result.element_type != types[i]) {
      return Refuse(request, "result ", i, " of computation `", reducer.name(), "` must be ",
                    PrimitiveTypeName(types[i]), "[], is ", result.ToString());
    }
  }
  return absl::OkStatus();
}

namespace {

// Operands of reduce and reduce-window: n arrays of the same dimensions, n start values of their types.
absl::StatusOr<int64_t> ExpectArraysAndStarts(const Request& request) {
  const int64_t n = request.operand_count() / 2;
  if (n < 1 || request.operand_count() != 2 * n)
    return Refuse(request, "takes n arrays and n start values, has ", request.operand_count(), " operands");
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  std::vector<PrimitiveType> types;
  for (int64_t i = 0; i < 2 * n; ++i) SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
  for (int64_t i = 0; i < n; ++i) {
    const Shape &array = request.shape(i), &start = request.shape(n + i);
    bool same = array.rank() == request.shape(0).rank();
    for (int64_t d = 0; same && d < array.rank(); ++d)
      same = SizesAgree(array.dimensions[d], request.shape(0).dimensions[d]);
    if (!same)
      return Refuse(request, "all arrays must have the same dimensions, are ", Describe(request, 0), " and ",
                    Describe(request, i));
    if (!start.IsScalar() || start.element_type != array.element_type) {
      return Refuse(request, "the start value of ", Describe(request, i), " must be a scalar of its type, is ",
                    Describe(request, n + i));
    }
    types.push_back(start.element_type);
  }
  SMELT_RETURN_IF_ERROR(ExpectReducer(request, *request.called[0], types));
  return n;
}

// The result of n arrays of these dimensions; the reducer decides their types.
Shape Results(const Request& request, int64_t n, const Shape& dimensions) {
  const Shape& root = request.called[0]->root()->shape();
  std::vector<Shape> results(n, dimensions);
  for (int64_t i = 0; i < n; ++i)
    results[i].element_type = root.IsTuple() ? root.tuple_shapes[i].element_type : root.element_type;
  return n == 1 ? results[0] : Shape::Tuple(std::move(results));
}

absl::Status ExpectFeatureVectors(const Request& request, int64_t first, int64_t last) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const Shape& operand = request.shape(0);
  const int64_t feature = request.Get<BatchNormAttributes>().feature_index;
  if (!IsFloat(operand.element_type))
    return Refuse(request, "takes floating-point numbers, not ", Describe(request, 0));
  if (feature < 0 || feature >= operand.rank())
    return Refuse(request, "feature_index ", feature, " must be a dimension of ", Describe(request, 0));
  for (int64_t i = first; i <= last; ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    const Shape& vector = request.shape(i);
    if (vector.rank() != 1 || !IsFloat(vector.element_type) ||
        !SizesAgree(vector.dimensions[0], operand.dimensions[feature])) {
      return Refuse(request, "operand ", i, " must be a vector with an element for each of the ",
                    operand.dimensions[feature], " features of ", Describe(request, 0), ", is ", Describe(request, i));
    }
  }
  return absl::OkStatus();
}

Shape Plain(Shape shape) {
  shape.layout.reset();
  return shape;
}

}  // namespace

absl::StatusOr<Shape> Reduce(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(const int64_t n, ExpectArraysAndStarts(request));
  const std::vector<int64_t>& dimensions = request.Get<DimensionsAttributes>().dimensions;
  const Shape& operand = request.shape(0);
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dimensions", dimensions, operand.rank()));
  Shape left = Shape::Array(operand.element_type, {});
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::find(dimensions.begin(), dimensions.end(), d) != dimensions.end()) continue;
    left.dimensions.push_back(operand.dimensions[d]);
    if (!operand.dynamic.empty()) left.dynamic.push_back(operand.dynamic[d]);
  }
  return Results(request, n, left);
}

absl::StatusOr<Shape> ReduceWindow(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(const int64_t n, ExpectArraysAndStarts(request));
  const Window& window = request.Get<WindowAttributes>().window;
  const Shape& operand = request.shape(0);
  SMELT_RETURN_IF_ERROR(ExpectWindow(request, window, operand.rank()));
  Shape positions = Shape::Array(operand.element_type, {});
  for (int64_t d = 0; d < operand.rank(); ++d) {
    SMELT_ASSIGN_OR_RETURN(int64_t size, WindowPositions(request, operand.dimensions[d], window.dimensions[d], d));
    positions.dimensions.push_back(size);
  }
  SMELT_ASSIGN_OR_RETURN(positions, Sized(request, positions));
  return Results(request, n, positions);
}

// Operands: the array whose windows choose, the values to scatter, the start value.
absl::StatusOr<Shape> SelectAndScatter(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 2));
  for (int64_t i = 0; i < 3; ++i) SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
  const Window& window = request.Get<WindowAttributes>().window;
  const Shape &operand = request.shape(0), &source = request.shape(1);
  SMELT_RETURN_IF_ERROR(ExpectWindow(request, window, operand.rank()));
  if (source.rank() != operand.rank())
    return Refuse(request, "both arrays must have the same rank, are ", Describe(request, 0), " and ",
                  Describe(request, 1));
  for (int64_t d = 0; d < operand.rank(); ++d) {
    SMELT_ASSIGN_OR_RETURN(const int64_t size,
                           WindowPositions(request, operand.dimensions[d], window.dimensions[d], d));
    if (!SizesAgree(size, source.dimensions[d])) {
      return Refuse(request, "dimension ", d, " of ", Describe(request, 1), " must be ", size,
                    ", the number of windows over ", Describe(request, 0));
    }
  }
  if (!request.shape(2).IsScalar())
    return Refuse(request, "the start value must be a scalar, is ", Describe(request, 2));
  const Computation& select = *request.called[0];
  const Shape scalar = Shape::Scalar(operand.element_type);
  SMELT_RETURN_IF_ERROR(ExpectParameters(request, select, {scalar, scalar}));
  if (!select.root()->shape().SameAs(Shape::Scalar(PrimitiveType::kPred))) {
    return Refuse(request, "computation `", select.name(), "` must give pred[], gives ",
                  select.root()->shape().ToString());
  }
  SMELT_RETURN_IF_ERROR(ExpectReducer(request, *request.called[1], {source.element_type}));
  return operand;
}

absl::StatusOr<Shape> BatchNormTraining(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectFeatureVectors(request, 1, 2));
  return Shape::Tuple({request.shape(0), Plain(request.shape(1)), Plain(request.shape(1))});
}

absl::StatusOr<Shape> BatchNormInference(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectFeatureVectors(request, 1, 4));
  return request.shape(0);
}

absl::StatusOr<Shape> BatchNormGrad(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectFeatureVectors(request, 1, 3));
  if (!request.shape(4).SameDimensions(request.shape(0))) {
    return Refuse(request, "the gradient must have the dimensions of ", Describe(request, 0), ", is ",
                  Describe(request, 4));
  }
  return Shape::Tuple({request.shape(0), Plain(request.shape(1)), Plain(request.shape(1))});
}

// Operands: arrays, then num_carries start values; results: arrays, then the last carries. What the body stacks up only
// it knows.
absl::StatusOr<Shape> Scan(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  const ScanAttributes& a = request.Get<ScanAttributes>();
  const int64_t arrays = request.operand_count() - a.num_carries;
  if (a.num_carries < 0 || arrays < 0)
    return Refuse(request, "num_carries ", a.num_carries, " must be at most the number of operands, ",
                  request.operand_count());
  for (int64_t i = 0; i < arrays; ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    if (a.dimension < 0 || a.dimension >= request.shape(i).rank()) {
      return Refuse(request, "dimension ", a.dimension, " must be one of ", Describe(request, i));
    }
  }
  return declared;
}

absl::StatusOr<Shape> Sort(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an operand at least");
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  const int64_t dimension = request.Get<SortAttributes>().dimension;
  std::vector<Shape> scalars, results;
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
    const Shape& shape = request.shape(i);
    if (!shape.SameDimensions(request.shape(0))) {
      return Refuse(request, "operands must have the same dimensions, are ", Describe(request, 0), " and ",
                    Describe(request, i));
    }
    if (dimension < 0 || dimension >= shape.rank())
      return Refuse(request, "dimension ", dimension, " must be one of ", Describe(request, i));
    scalars.insert(scalars.end(), 2, Shape::Scalar(shape.element_type));
    results.push_back(shape);
  }
  SMELT_RETURN_IF_ERROR(ExpectParameters(request, *request.called[0], scalars));
  if (!request.called[0]->root()->shape().SameAs(Shape::Scalar(PrimitiveType::kPred))) {
    return Refuse(request, "computation `", request.called[0]->name(), "` must give pred[], gives ",
                  request.called[0]->root()->shape().ToString());
  }
  return results.size() == 1 ? results[0] : Shape::Tuple(std::move(results));
}

absl::StatusOr<Shape> TopK(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  const int64_t k = request.Get<TopKAttributes>().k;
  Shape values = Plain(request.shape(0));
  if (values.rank() < 1 || k < 0 || (values.dimensions.back() != kUnboundedSize && k > values.dimensions.back())) {
    return Refuse(request, "k ", k, " must be from 0 to the size of the last dimension of ", Describe(request, 0));
  }
  values.dimensions.back() = k;
  if (!values.dynamic.empty()) values.dynamic.back() = false;
  Shape indices = values;
  indices.element_type = PrimitiveType::kS32;
  return Shape::Tuple({std::move(values), std::move(indices)});
}

}  // namespace smelt::hlo::shape_inference

// Gather and scatter: the same dimension numbers read in both directions.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

// Dimensions in rising order, in range, none twice.
absl::Status ExpectRising(const Request& request, std::string_view what, absl::Span<const int64_t> dimensions,
                          int64_t rank) {
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, what, dimensions, rank));
  if (std::is_sorted(dimensions.begin(), dimensions.end())) return absl::OkStatus();
  return Refuse(request, what, " ", ToString(dimensions), " must be in rising order");
}

// What gather and scatter have in common. "Window" is what an index selects: a slice of the operand, an update's
// window.
struct Numbers {
  std::string_view window_name, collapsed_name, map_name, operand_batching_name, indices_batching_name;
  absl::Span<const int64_t> window;            // dimensions of the result (updates) that run through the window
  absl::Span<const int64_t> collapsed;         // dimensions of the operand that the window has not
  absl::Span<const int64_t> map;               // where each component of an index points to in the operand
  absl::Span<const int64_t> operand_batching;  // dimensions of the operand that go along with
  absl::Span<const int64_t> indices_batching;  // these dimensions of the indices
  int64_t index_vector_dim;
};

absl::Status CheckNumbers(const Request& request, const Numbers& n, const Shape& operand, const Shape& indices,
                          int64_t result_rank) {
  SMELT_RETURN_IF_ERROR(ExpectRising(request, n.window_name, n.window, result_rank));
  SMELT_RETURN_IF_ERROR(ExpectRising(request, n.collapsed_name, n.collapsed, operand.rank()));
  SMELT_RETURN_IF_ERROR(ExpectRising(request, n.operand_batching_name, n.operand_batching, operand.rank()));
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, n.indices_batching_name, n.indices_batching, indices.rank()));
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, n.map_name, n.map, operand.rank()));
  if (!IsInteger(indices.element_type)) return Refuse(request, "indices must be integers, are ", indices.ToString());
  if (n.index_vector_dim < 0 || n.index_vector_dim > indices.rank()) {
    return Refuse(request, "index_vector_dim ", n.index_vector_dim, " must be from 0 to the rank of the indices, ",
                  indices.ToString());
  }
  const int64_t components = n.index_vector_dim == indices.rank() ? 1 : indices.dimensions[n.index_vector_dim];
  if (!SizesAgree(components, static_cast<int64_t>(n.map.size()))) {
    return Refuse(request, n.map_name, " ", ToString(n.map), " must have an entry for each of the ", components,
                  " components of an index");
  }
  const int64_t window_rank = static_cast<int64_t>(n.window.size() + n.collapsed.size() + n.operand_batching.size());
  if (window_rank != operand.rank()) {
    return Refuse(request, n.window_name, ", ", n.collapsed_name, " and ", n.operand_batching_name, " must have ",
                  operand.rank(), " dimensions in all, those of ", Describe(request, 0), ", have ", window_rank);
  }
  if (n.operand_batching.size() != n.indices_batching.size()) {
    return Refuse(request, n.operand_batching_name, " and ", n.indices_batching_name,
                  " must have the same number of dimensions");
  }
  for (size_t i = 0; i < n.operand_batching.size(); ++i) {
    const int64_t o = n.operand_batching[i], s = n.indices_batching[i];
    if (absl::c_linear_search(n.collapsed, o) || absl::c_linear_search(n.map, o)) {
      return Refuse(request, "dimension ", o, " of ", n.operand_batching_name, " must not be in ", n.collapsed_name,
                    " or ", n.map_name);
    }
    if (s == n.index_vector_dim)
      return Refuse(request, n.indices_batching_name, " must not contain index_vector_dim ", s);
    if (!SizesAgree(operand.dimensions[o], indices.dimensions[s])) {
      return Refuse(request, "batching dimensions must have the same size: dimension ", o, " of ", Describe(request, 0),
                    " and dimension ", s, " of ", indices.ToString());
    }
  }
  return absl::OkStatus();
}

// Sizes of the dimensions of the indices that say where, in order: all but the index vector.
std::vector<int64_t> BatchSizes(const Shape& indices, int64_t index_vector_dim) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != index_vector_dim) sizes.push_back(indices.dimensions[i]);
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Shape> Gather(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape &operand = request.shape(0), &indices = request.shape(1);
  const GatherAttributes& a = request.Get<GatherAttributes>();
  if (a.index_vector_dim < 0 || a.index_vector_dim > indices.rank()) {
    return Refuse(request, "index_vector_dim ", a.index_vector_dim, " must be from 0 to the rank of ",
                  Describe(request, 1));
  }
  const std::vector<int64_t> batch = BatchSizes(indices, a.index_vector_dim);
  const int64_t rank = static_cast<int64_t>(a.offset_dims.size() + batch.size());
  const Numbers numbers = {"offset_dims",
                           "collapsed_slice_dims",
                           "start_index_map",
                           "operand_batching_dims",
                           "start_indices_batching_dims",
                           a.offset_dims,
                           a.collapsed_slice_dims,
                           a.start_index_map,
                           a.operand_batching_dims,
                           a.start_indices_batching_dims,
                           a.index_vector_dim};
  SMELT_RETURN_IF_ERROR(CheckNumbers(request, numbers, operand, indices, rank));
  if (static_cast<int64_t>(a.slice_sizes.size()) != operand.rank()) {
    return Refuse(request, "slice_sizes ", ToString(a.slice_sizes), " must have one size for each dimension of ",
                  Describe(request, 0));
  }
  std::vector<int64_t> window;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = a.slice_sizes[i];
    if (size < 0 || (operand.dimensions[i] != kUnboundedSize && size > operand.dimensions[i])) {
      return Refuse(request, "slice size ", size, " must be from 0 to the size of dimension ", i, " of ",
                    Describe(request, 0));
    }
    if (absl::c_linear_search(a.collapsed_slice_dims, i) || absl::c_linear_search(a.operand_batching_dims, i)) {
      if (size > 1)
        return Refuse(request, "slice size ", size, " of collapsed or batching dimension ", i, " must be at most 1");
    } else {
      window.push_back(size);
    }
  }
  Shape shape = Shape::Array(operand.element_type, {});
  size_t next_window = 0, next_batch = 0;
  for (int64_t i = 0; i < rank; ++i) {
    shape.dimensions.push_back(absl::c_linear_search(a.offset_dims, i) ? window[next_window++] : batch[next_batch++]);
  }
  return Sized(request, shape);
}

// Operands: n arrays, indices, n updates.
absl::StatusOr<Shape> Scatter(const Request& request) {
  const int64_t n = (request.operand_count() - 1) / 2;
  if (n < 1 || request.operand_count() != 2 * n + 1)
    return Refuse(request, "takes n arrays, indices and n updates, has ", request.operand_count(), " operands");
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  for (int64_t i = 0; i < request.operand_count(); ++i) SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
  const ScatterAttributes& a = request.Get<ScatterAttributes>();
  const Shape &operand = request.shape(0), &indices = request.shape(n), &updates = request.shape(n + 1);
  if (a.index_vector_dim < 0 || a.index_vector_dim > indices.rank()) {
    return Refuse(request, "index_vector_dim ", a.index_vector_dim, " must be from 0 to the rank of ",
                  Describe(request, n));
  }
  const std::vector<int64_t> batch = BatchSizes(indices, a.index_vector_dim);
  const int64_t rank = static_cast<int64_t>(a.update_window_dims.size() + batch.size());
  if (updates.rank() != rank) {
    return Refuse(request, "updates must have ", rank, " dimensions, those of windows and indices, are ",
                  Describe(request, n + 1));
  }
  const Numbers numbers = {"update_window_dims",
                           "inserted_window_dims",
                           "scatter_dims_to_operand_dims",
                           "input_batching_dims",
                           "scatter_indices_batching_dims",
                           a.update_window_dims,
                           a.inserted_window_dims,
                           a.scatter_dims_to_operand_dims,
                           a.input_batching_dims,
                           a.scatter_indices_batching_dims,
                           a.index_vector_dim};
  SMELT_RETURN_IF_ERROR(CheckNumbers(request, numbers, operand, indices, rank));
  std::vector<int64_t> window;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (!absl::c_linear_search(a.inserted_window_dims, i) && !absl::c_linear_search(a.input_batching_dims, i))
      window.push_back(operand.dimensions[i]);
  }
  size_t next_window = 0, next_batch = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = updates.dimensions[i];
    if (absl::c_linear_search(a.update_window_dims, i)) {
      const int64_t bound = window[next_window++];
      if (bound != kUnboundedSize && size > bound) {
        return Refuse(request, "window dimension ", i, " of the updates ", Describe(request, n + 1),
                      " must fit into the operand, which has ", bound);
      }
    } else if (!SizesAgree(size, batch[next_batch++])) {
      return Refuse(request, "dimension ", i, " of the updates ", Describe(request, n + 1),
                    " must be as large as that of the indices, ", batch[next_batch - 1]);
    }
  }
  std::vector<PrimitiveType> types;
  std::vector<Shape> results;
  for (int64_t i = 0; i < n; ++i) {
    if (!request.shape(i).SameDimensions(operand)) {
      return Refuse(request, "all arrays must have the same dimensions, are ", Describe(request, 0), " and ",
                    Describe(request, i));
    }
    if (!request.shape(n + 1 + i).SameDimensions(updates)) {
      return Refuse(request, "all updates must have the same dimensions, are ", Describe(request, n + 1), " and ",
                    Describe(request, n + 1 + i));
    }
    types.push_back(request.shape(i).element_type);
    results.push_back(request.shape(i));
  }
  SMELT_RETURN_IF_ERROR(ExpectReducer(request, *request.called[0], types));
  return n == 1 ? results[0] : Shape::Tuple(std::move(results));
}

}  // namespace smelt::hlo::shape_inference

// Dots and convolutions. The element type of the result may be wider or narrower than that of the operands: the text
// decides.

#include "absl/algorithm/container.h"
#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

PrimitiveType ContractionType(const Request& request) {
  if (request.declared != nullptr && request.declared->IsArray()) return request.declared->element_type;
  const PrimitiveType lhs = request.shape(0).element_type, rhs = request.shape(1).element_type;
  return BitWidth(rhs) > BitWidth(lhs) ? rhs : lhs;
}

// Checks the dimension numbers of a dot and gives its dimensions: batch, then what is left of the left side, then of
// the right.
absl::StatusOr<Shape> DotShape(const Request& request, const DotAttributes& a) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape &lhs = request.shape(0), &rhs = request.shape(1);
  std::vector<int64_t> lhs_used = a.lhs_batch, rhs_used = a.rhs_batch;
  lhs_used.insert(lhs_used.end(), a.lhs_contracting.begin(), a.lhs_contracting.end());
  rhs_used.insert(rhs_used.end(), a.rhs_contracting.begin(), a.rhs_contracting.end());
  SMELT_RETURN_IF_ERROR(
      ExpectDistinct(request, "batch and contracting dimensions of the left side", lhs_used, lhs.rank()));
  SMELT_RETURN_IF_ERROR(
      ExpectDistinct(request, "batch and contracting dimensions of the right side", rhs_used, rhs.rank()));
  if (a.lhs_batch.size() != a.rhs_batch.size() || a.lhs_contracting.size() != a.rhs_contracting.size()) {
    return Refuse(request, "both sides must have as many batch and as many contracting dimensions");
  }
  for (size_t i = 0; i < lhs_used.size(); ++i) {
    if (!SizesAgree(lhs.dimensions[lhs_used[i]], rhs.dimensions[rhs_used[i]])) {
      return Refuse(request, "dimension ", lhs_used[i], " of ", Describe(request, 0), " and dimension ", rhs_used[i],
                    " of ", Describe(request, 1), " must have the same size");
    }
  }
  Shape shape = Shape::Array(ContractionType(request), {});
  for (int64_t d : a.lhs_batch) shape.dimensions.push_back(lhs.dimensions[d]);
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!absl::c_linear_search(lhs_used, d)) shape.dimensions.push_back(lhs.dimensions[d]);
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!absl::c_linear_search(rhs_used, d)) shape.dimensions.push_back(rhs.dimensions[d]);
  }
  return Sized(request, shape);
}

}  // namespace

absl::StatusOr<Shape> Dot(const Request& request) { return DotShape(request, request.Get<DotAttributes>()); }

// Operands: left side, right side, sizes of the groups. The ragged dimension of the left side is free (the right side
// then has a group dimension), contracting (the result then has one in front), or batch.
absl::StatusOr<Shape> RaggedDot(const Request& request) {
  DotAttributes a = request.Get<DotAttributes>();
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 2));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  if (a.lhs_ragged.size() != 1) return Refuse(request, "takes one ragged dimension, has ", a.lhs_ragged.size());
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "lhs_ragged_dims", a.lhs_ragged, request.shape(0).rank()));
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "rhs_group_dims", a.rhs_group, request.shape(1).rank()));
  const Shape& groups = request.shape(2);
  if (groups.rank() < 1 || !IsInteger(groups.element_type))
    return Refuse(request, "group sizes must be a vector of integers, are ", Describe(request, 2));
  if (absl::c_linear_search(a.lhs_contracting, a.lhs_ragged[0])) {
    SMELT_ASSIGN_OR_RETURN(Shape shape, DotShape(request, a));
    shape.dimensions.insert(shape.dimensions.begin(), groups.dimensions.back());
    return Sized(request, shape);
  }
  if (absl::c_linear_search(a.lhs_batch, a.lhs_ragged[0])) return DotShape(request, a);
  if (a.rhs_group.size() != 1)
    return Refuse(request, "takes one group dimension of the right side, has ", a.rhs_group.size());
  // The group dimension is summed over, one group for each row.
  SMELT_ASSIGN_OR_RETURN(Shape shape, DotShape(request, a));
  int64_t position = request.shape(0).rank() - static_cast<int64_t>(a.lhs_contracting.size());
  for (int64_t d = 0; d < a.rhs_group[0]; ++d) {
    if (!absl::c_linear_search(a.rhs_batch, d) && !absl::c_linear_search(a.rhs_contracting, d)) ++position;
  }
  if (absl::c_linear_search(a.rhs_batch, a.rhs_group[0]) || absl::c_linear_search(a.rhs_contracting, a.rhs_group[0])) {
    return Refuse(request, "the group dimension must be neither batch nor contracting");
  }
  shape.dimensions.erase(shape.dimensions.begin() + position);
  return shape;
}

absl::StatusOr<Shape> Convolution(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 0));
  SMELT_RETURN_IF_ERROR(ExpectArray(request, 1));
  const Shape &input = request.shape(0), &kernel = request.shape(1);
  const ConvolutionAttributes& a = request.Get<ConvolutionAttributes>();
  const ConvolutionDimensions& d = a.dimensions;
  const int64_t spatial = static_cast<int64_t>(d.input_spatial.size());
  if (input.rank() != spatial + 2 || kernel.rank() != spatial + 2 ||
      static_cast<int64_t>(d.kernel_spatial.size()) != spatial ||
      static_cast<int64_t>(d.output_spatial.size()) != spatial) {
    return Refuse(request, "dim_labels with ", spatial, " spatial dimensions do not fit ", Describe(request, 0),
                  " and ", Describe(request, 1));
  }
  const auto all = [](int64_t first, int64_t second, const std::vector<int64_t>& rest) {
    std::vector<int64_t> dimensions = {first, second};
    dimensions.insert(dimensions.end(), rest.begin(), rest.end());
    return dimensions;
  };
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dim_labels of the input",
                                       all(d.input_batch, d.input_feature, d.input_spatial), spatial + 2));
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dim_labels of the kernel",
                                       all(d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial),
                                       spatial + 2));
  SMELT_RETURN_IF_ERROR(ExpectDistinct(request, "dim_labels of the output",
                                       all(d.output_batch, d.output_feature, d.output_spatial), spatial + 2));
  SMELT_RETURN_IF_ERROR(ExpectWindow(request, a.window, spatial));
  if (a.feature_group_count < 1 || a.batch_group_count < 1 || (a.feature_group_count > 1 && a.batch_group_count > 1)) {
    return Refuse(request, "feature_group_count ", a.feature_group_count, " and batch_group_count ",
                  a.batch_group_count, " must be positive, and one of them 1");
  }
  const int64_t batch = input.dimensions[d.input_batch], features = input.dimensions[d.input_feature];
  const int64_t kernel_in = kernel.dimensions[d.kernel_input_feature],
                kernel_out = kernel.dimensions[d.kernel_output_feature];
  __int128 wanted = static_cast<__int128>(kernel_in) * a.feature_group_count;
  if (features != kUnboundedSize && kernel_in != kUnboundedSize && wanted != features) {
    return Refuse(request, "the ", features, " input features of ", Describe(request, 0),
                  " must be feature_group_count ", a.feature_group_count, " times the ", kernel_in, " of ",
                  Describe(request, 1));
  }
  if (kernel_out != kUnboundedSize &&
      (kernel_out % a.feature_group_count != 0 || kernel_out % a.batch_group_count != 0)) {
    return Refuse(request, "the ", kernel_out, " output features of ", Describe(request, 1),
                  " must be a multiple of the group count");
  }
  if (batch != kUnboundedSize && batch % a.batch_group_count != 0) {
    return Refuse(request, "the batch of ", batch, " must be a multiple of batch_group_count ", a.batch_group_count);
  }
  Shape shape = Shape::Array(ContractionType(request), std::vector<int64_t>(spatial + 2));
  shape.dimensions[d.output_batch] = batch == kUnboundedSize ? batch : batch / a.batch_group_count;
  shape.dimensions[d.output_feature] = kernel_out;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t kernel_size = kernel.dimensions[d.kernel_spatial[i]];
    if (!SizesAgree(a.window.dimensions[i].size, kernel_size)) {
      return Refuse(request, "window size ", a.window.dimensions[i].size, " must be dimension ", d.kernel_spatial[i],
                    " of ", Describe(request, 1));
    }
    SMELT_ASSIGN_OR_RETURN(shape.dimensions[d.output_spatial[i]],
                           WindowPositions(request, input.dimensions[d.input_spatial[i]], a.window.dimensions[i], i));
  }
  return Sized(request, shape);
}

}  // namespace smelt::hlo::shape_inference

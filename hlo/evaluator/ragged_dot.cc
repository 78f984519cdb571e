// ragged-dot and scaled-dot, as dots of masked and of rescaled operands.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/evaluator/contraction_types.h"
#include "hlo/evaluator/dot.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"
#include "hlo/status_macros.h"

namespace smelt::hlo {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Copies the elements of one group: those whose position in the ragged dimension is between the group's start and end,
// which depend on the positions in the prefix dimensions when group sizes do.
void CopyGroup(const Literal& source, const std::vector<int64_t>& prefix, int64_t ragged, const Literal& group_sizes,
               int64_t group, Literal* target) {
  const Shape& shape = source.shape();
  const std::vector<int64_t> strides = shape.Strides();
  const int64_t groups = group_sizes.shape().dimensions.back();
  std::vector<int64_t> prefix_sizes(group_sizes.shape().dimensions.begin(), group_sizes.shape().dimensions.end() - 1);
  std::vector<int64_t> index(prefix_sizes.size(), 0);
  if (HasZero(prefix_sizes)) return;
  int64_t row = 0;
  do {
    int64_t start = 0;
    for (int64_t g = 0; g < group; ++g) start += std::max<int64_t>(0, group_sizes.GetInteger(row * groups + g));
    const int64_t end =
        std::min(shape.dimensions[ragged], start + std::max<int64_t>(0, group_sizes.GetInteger(row * groups + group)));
    ++row;
    if (start >= end) continue;
    StridedCopy copy{shape.dimensions, strides, strides, start * strides[ragged], 0};
    copy.sizes[ragged] = end - start;
    for (size_t i = 0; i < prefix.size(); ++i) {
      copy.source_offset += index[i] * strides[prefix[i]];
      copy.sizes[prefix[i]] = 1;
    }
    copy.target_offset = copy.source_offset;
    RunStridedCopy(copy, StorageBytes(shape.element_type), source.raw(), target->raw());
  } while (NextIndex(prefix_sizes, &index));
}

// The scale of each element of an operand: along every dimension, one scale serves a block of elements.
absl::StatusOr<Value> Rescaled(Evaluation& evaluation, const Value& operand, const Value& scale) {
  const Shape &shape = operand.shape(), &scales = scale.shape();
  SMELT_ASSIGN_OR_RETURN(Value wide, ConvertedTo(evaluation, operand, PrimitiveType::kBF16));
  SMELT_ASSIGN_OR_RETURN(Value wide_scale, ConvertedTo(evaluation, scale, PrimitiveType::kBF16));
  // The scales spread over the operand's elements: dimension d becomes (scales, block).
  StridedCopy copy;
  const std::vector<int64_t> scale_strides = scales.Strides(), strides = shape.Strides();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (scales.rank() != shape.rank() || scales.dimensions[d] == 0 || shape.dimensions[d] % scales.dimensions[d] != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("scales of ", scales.ToString(), " do not fit ", shape.ToString()));
    }
    const int64_t block = shape.dimensions[d] / scales.dimensions[d];
    copy.sizes.insert(copy.sizes.end(), {scales.dimensions[d], block});
    copy.source_strides.insert(copy.source_strides.end(), {scale_strides[d], 0});
    copy.target_strides.insert(copy.target_strides.end(), {block * strides[d], strides[d]});
  }
  const Shape result_shape = Shape::Array(PrimitiveType::kBF16, shape.dimensions);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> spread, evaluation.NewArray(result_shape));
  RunStridedCopy(copy, StorageBytes(PrimitiveType::kBF16), wide_scale.array().raw(), spread->raw());
  SMELT_ASSIGN_OR_RETURN(
      ElementwiseKernel multiply,
      FindElementwiseKernel(Opcode::kMultiply, {PrimitiveType::kBF16, PrimitiveType::kBF16}, PrimitiveType::kBF16));
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, evaluation.NewArray(result_shape));
  const void* operands[] = {wide.array().raw(), spread->raw()};
  multiply.Run(operands, result->raw(), result_shape.ElementCount());
  return Value(std::move(result));
}

}  // namespace

// The ragged dimension of the left side is cut into groups of given sizes; what lies beyond their sum counts as zero.
// It is
//   free:        each group of rows is multiplied with its own matrix of the right side (rhs_group_dims);
//   contracting: each group gives a product of its own, stacked in front of the result;
//   batch:       an ordinary dot of the batches that are in a group.
absl::StatusOr<Value> EvaluateRaggedDot(const Call& call) {
  const auto& attributes = call.instruction.attributes<DotAttributes>();
  const Value &lhs = call.operand(0), &rhs = call.operand(1);
  const Literal& group_sizes = call.operand(2).array();
  const Shape& shape = call.shape();
  const int64_t ragged = attributes.lhs_ragged[0];
  const int64_t groups = group_sizes.shape().dimensions.back();
  const bool contracting = Contains(attributes.lhs_contracting, ragged), batch = Contains(attributes.lhs_batch, ragged);

  // Dimensions on which group sizes depend: batch dimensions, then those of the ragged dimension's kind that precede
  // it.
  std::vector<int64_t> prefix;
  if (!batch) prefix = attributes.lhs_batch;
  for (int64_t d = 0; d < ragged; ++d) {
    const bool is_batch = Contains(attributes.lhs_batch, d), is_contracting = Contains(attributes.lhs_contracting, d);
    if (batch ? is_batch : !is_batch && is_contracting == contracting) prefix.push_back(d);
  }
  if (group_sizes.shape().rank() == 1) prefix.clear();
  if (static_cast<int64_t>(prefix.size()) != group_sizes.shape().rank() - 1) {
    return absl::InvalidArgumentError(absl::StrCat("has group sizes of ", group_sizes.shape().ToString(), " for ",
                                                   prefix.size(), " dimensions before the ragged one"));
  }
  auto masked = [&](int64_t first, int64_t last) -> absl::StatusOr<Value> {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> kept, call.evaluation.NewZeroArray(lhs.shape()));
    for (int64_t g = first; g < last; ++g) CopyGroup(lhs.array(), prefix, ragged, group_sizes, g, kept.get());
    return Value(std::move(kept));
  };
  if (batch) {
    SMELT_ASSIGN_OR_RETURN(Value kept, masked(0, groups));
    return DotProduct(call.evaluation, std::move(kept), rhs, attributes, shape);
  }

  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewZeroArray(shape));
  const int64_t bytes = StorageBytes(shape.element_type);
  if (contracting) {
    Shape part = Shape::Array(shape.element_type, {shape.dimensions.begin() + 1, shape.dimensions.end()});
    for (int64_t g = 0; g < groups; ++g) {
      SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
      SMELT_ASSIGN_OR_RETURN(Value kept, masked(g, g + 1));
      SMELT_ASSIGN_OR_RETURN(Value product, DotProduct(call.evaluation, std::move(kept), rhs, attributes, part));
      std::copy_n(product.data<char>(), part.ElementCount() * bytes,
                  static_cast<char*>(result->raw()) + g * part.ElementCount() * bytes);
    }
    return Value(std::move(result));
  }

  // Free: the right side without its group dimension, group after group.
  const int64_t group_dimension = attributes.rhs_group[0];
  DotAttributes inner = attributes;
  for (std::vector<int64_t>* list : {&inner.rhs_batch, &inner.rhs_contracting}) {
    for (int64_t& d : *list) d -= d > group_dimension ? 1 : 0;
  }
  Shape matrix = Shape::Array(rhs.shape().element_type, rhs.shape().dimensions);
  std::vector<int64_t> matrix_strides = rhs.shape().Strides();
  const int64_t group_stride = matrix_strides[group_dimension];
  matrix.dimensions.erase(matrix.dimensions.begin() + group_dimension);
  matrix_strides.erase(matrix_strides.begin() + group_dimension);
  // Where the left side's dimensions stand in the result: batch dimensions, then free ones in order.
  auto result_dimension = [&](int64_t d) {
    const auto at = std::find(attributes.lhs_batch.begin(), attributes.lhs_batch.end(), d);
    if (at != attributes.lhs_batch.end()) return static_cast<int64_t>(at - attributes.lhs_batch.begin());
    int64_t position = static_cast<int64_t>(attributes.lhs_batch.size());
    for (int64_t e = 0; e < d; ++e)
      position += !Contains(attributes.lhs_batch, e) && !Contains(attributes.lhs_contracting, e);
    return position;
  };
  std::vector<int64_t> result_prefix;
  for (int64_t d : prefix) result_prefix.push_back(result_dimension(d));
  for (int64_t g = 0; g < std::min(groups, rhs.shape().dimensions[group_dimension]); ++g) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> one, call.evaluation.NewArray(matrix));
    RunStridedCopy({matrix.dimensions, matrix_strides, matrix.Strides(), g * group_stride, 0},
                   StorageBytes(matrix.element_type), rhs.array().raw(), one->raw());
    SMELT_ASSIGN_OR_RETURN(Value product, DotProduct(call.evaluation, lhs, Value(std::move(one)), inner,
                                                     Shape::Array(shape.element_type, shape.dimensions)));
    CopyGroup(product.array(), result_prefix, result_dimension(ragged), group_sizes, g, result.get());
  }
  return Value(std::move(result));
}

// Operands in narrow floats with a scale per block of elements: each element times its scale, rounded to bf16, then a
// dot.
absl::StatusOr<Value> EvaluateScaledDot(const Call& call) {
  SMELT_ASSIGN_OR_RETURN(Value lhs, Rescaled(call.evaluation, call.operand(0), call.operand(2)));
  SMELT_ASSIGN_OR_RETURN(Value rhs, Rescaled(call.evaluation, call.operand(1), call.operand(3)));
  return DotProduct(call.evaluation, std::move(lhs), std::move(rhs), call.instruction.attributes<DotAttributes>(),
                    call.shape());
}

}  // namespace smelt::hlo

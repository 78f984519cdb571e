// ragged-dot and scaled-dot, as dots of masked and of rescaled operands.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "hlo/evaluator/contraction_types.h"
#include "hlo/evaluator/dot.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

// The positions of one group along the ragged dimension.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// One for each position of the dimensions that group sizes depend on, row-major.
std::vector<Range> RangesOf(const Literal& group_sizes, int64_t group, int64_t positions) {
  const int64_t groups = group_sizes.shape().dimensions.back();
  std::vector<Range> ranges;
  for (int64_t row = 0; (row + 1) * groups <= group_sizes.element_count(); ++row) {
    Range range;
    for (int64_t g = 0; g <= group; ++g) {
      range.begin = range.end;
      range.end += std::clamp<int64_t>(group_sizes.GetInteger(row * groups + g), 0, positions - range.begin);
    }
    ranges.push_back(range);
  }
  return ranges;
}

// What all of them lie in.
Range Span(const std::vector<Range>& ranges) {
  Range span;
  for (const Range& range : ranges) {
    if (range.begin == range.end) continue;
    if (span.begin == span.end) span = range;
    span = {std::min(span.begin, range.begin), std::max(span.end, range.end)};
  }
  return span;
}

// An array that begins at position `first` of the ragged dimension.
struct Part {
  int64_t ragged;
  int64_t first;
};

// Copies the elements of a group, whose ranges depend on the positions in the prefix dimensions.
void CopyGroup(const std::vector<Range>& ranges, const std::vector<int64_t>& prefix, const Literal& source, Part from,
               Literal* target, Part to) {
  const Shape& shape = source.shape();
  const std::vector<int64_t> strides = shape.Strides(), target_strides = target->shape().Strides();
  std::vector<int64_t> prefix_sizes;
  for (int64_t d : prefix) prefix_sizes.push_back(shape.dimensions[d]);
  std::vector<int64_t> index(prefix_sizes.size(), 0);
  if (HasZero(prefix_sizes)) return;
  size_t row = 0;
  do {
    const Range range = ranges[row++];
    if (range.begin == range.end) continue;
    StridedCopy copy{shape.dimensions, strides, target_strides, (range.begin - from.first) * strides[from.ragged],
                     (range.begin - to.first) * target_strides[to.ragged]};
    copy.sizes[from.ragged] = range.end - range.begin;
    for (size_t i = 0; i < prefix.size(); ++i) {
      copy.source_offset += index[i] * strides[prefix[i]];
      copy.target_offset += index[i] * target_strides[prefix[i]];
      copy.sizes[prefix[i]] = 1;
    }
    RunStridedCopy(copy, StorageBytes(shape.element_type), source.raw(), target->raw());
  } while (NextIndex(prefix_sizes, &index));
}

// The positions `range` of one dimension.
absl::StatusOr<Value> Sliced(Evaluation& evaluation, const Value& value, int64_t dimension, Range range) {
  Shape shape = Shape::Array(value.shape().element_type, value.shape().dimensions);
  const std::vector<int64_t> strides = shape.Strides();
  shape.dimensions[dimension] = range.end - range.begin;
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> part, evaluation.NewArray(shape));
  RunStridedCopy({shape.dimensions, strides, shape.Strides(), range.begin * strides[dimension], 0},
                 StorageBytes(shape.element_type), value.array().raw(), part->raw());
  return Value(std::move(part));
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
    const int64_t size = shape.dimensions[d], parts = scales.rank() == shape.rank() ? scales.dimensions[d] : -1;
    const bool fits = parts == 0 ? size == 0 : parts > 0 && size % parts == 0;
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("scales of ", scales.ToString(), " do not fit ", shape.ToString()));
    }
    const int64_t block = parts == 0 ? 1 : size / parts;
    copy.sizes.insert(copy.sizes.end(), {parts, block});
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
  const bool contracting = absl::c_linear_search(attributes.lhs_contracting, ragged),
             batch = absl::c_linear_search(attributes.lhs_batch, ragged);

  // Dimensions on which group sizes depend: batch dimensions, then those of the ragged dimension's kind that precede
  // it.
  std::vector<int64_t> prefix;
  if (!batch) prefix = attributes.lhs_batch;
  for (int64_t d = 0; d < ragged; ++d) {
    const bool is_batch = absl::c_linear_search(attributes.lhs_batch, d),
               is_contracting = absl::c_linear_search(attributes.lhs_contracting, d);
    if (batch ? is_batch : !is_batch && is_contracting == contracting) prefix.push_back(d);
  }
  if (group_sizes.shape().rank() == 1) prefix.clear();
  std::vector<int64_t> wanted;
  for (int64_t d : prefix) wanted.push_back(lhs.shape().dimensions[d]);
  wanted.push_back(groups);
  if (group_sizes.shape().dimensions != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("has group sizes of ", group_sizes.shape().ToString(),
                                                   " where the dimensions before the ragged "
                                                   "one ask for [",
                                                   absl::StrJoin(wanted, ","), "]"));
  }
  const auto ranges_of = [&](int64_t group) { return RangesOf(group_sizes, group, lhs.shape().dimensions[ragged]); };
  if (batch) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> kept, call.evaluation.NewZeroArray(lhs.shape()));
    for (int64_t g = 0; g < groups; ++g)
      CopyGroup(ranges_of(g), prefix, lhs.array(), {ragged, 0}, kept.get(), {ragged, 0});
    return DotProduct(call.evaluation, Value(std::move(kept)), rhs, attributes, shape);
  }
  // Only positions that some group has are multiplied: together the groups cost what one product does.

  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewZeroArray(shape));
  const int64_t bytes = StorageBytes(shape.element_type);
  if (contracting) {
    Shape part = Shape::Array(shape.element_type, {shape.dimensions.begin() + 1, shape.dimensions.end()});
    const auto at = std::find(attributes.lhs_contracting.begin(), attributes.lhs_contracting.end(), ragged);
    const int64_t rhs_ragged = attributes.rhs_contracting[at - attributes.lhs_contracting.begin()];
    for (int64_t g = 0; g < groups; ++g) {
      SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
      const std::vector<Range> ranges = ranges_of(g);
      const Range span = Span(ranges);
      Shape kept_shape = Shape::Array(lhs.shape().element_type, lhs.shape().dimensions);
      kept_shape.dimensions[ragged] = span.end - span.begin;
      SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> kept, call.evaluation.NewZeroArray(kept_shape));
      CopyGroup(ranges, prefix, lhs.array(), {ragged, 0}, kept.get(), {ragged, span.begin});
      SMELT_ASSIGN_OR_RETURN(Value of_rhs, Sliced(call.evaluation, rhs, rhs_ragged, span));
      SMELT_ASSIGN_OR_RETURN(Value product,
                             DotProduct(call.evaluation, Value(std::move(kept)), std::move(of_rhs), attributes, part));
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
      position +=
          !absl::c_linear_search(attributes.lhs_batch, e) && !absl::c_linear_search(attributes.lhs_contracting, e);
    return position;
  };
  std::vector<int64_t> result_prefix;
  for (int64_t d : prefix) result_prefix.push_back(result_dimension(d));
  for (int64_t g = 0; g < std::min(groups, rhs.shape().dimensions[group_dimension]); ++g) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    const std::vector<Range> ranges = ranges_of(g);
    const Range span = Span(ranges);
    if (span.begin == span.end) continue;
    SMELT_ASSIGN_OR_RETURN(Value rows, Sliced(call.evaluation, lhs, ragged, span));
    Shape part = Shape::Array(shape.element_type, shape.dimensions);
    part.dimensions[result_dimension(ragged)] = span.end - span.begin;
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> one, call.evaluation.NewArray(matrix));
    RunStridedCopy({matrix.dimensions, matrix_strides, matrix.Strides(), g * group_stride, 0},
                   StorageBytes(matrix.element_type), rhs.array().raw(), one->raw());
    SMELT_ASSIGN_OR_RETURN(Value product,
                           DotProduct(call.evaluation, std::move(rows), Value(std::move(one)), inner, part));
    CopyGroup(ranges, result_prefix, product.array(), {result_dimension(ragged), span.begin}, result.get(),
              {result_dimension(ragged), 0});
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

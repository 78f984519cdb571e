#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {

// (slices..., carries...) -> (slices of outputs..., carries...), for each position of one dimension in order. Operands:
// arrays, then the first carries; result: the outputs stacked along the dimension, then the last carries.
absl::StatusOr<Value> EvaluateScan(const Call& call) {
  const auto& attributes = call.instruction.attributes<ScanAttributes>();
  const int64_t dimension = attributes.dimension, carries = attributes.num_carries;
  const int64_t arrays = static_cast<int64_t>(call.operands.size()) - carries;
  if (arrays < 1) return absl::UnimplementedError("a scan without an array, whose length is unknown");
  const int64_t length = call.operand(0).shape().dimensions[dimension];
  std::vector<Value> state(std::make_move_iterator(call.operands.begin() + arrays),
                           std::make_move_iterator(call.operands.end()));

  const bool is_tuple = call.shape().IsTuple();
  const int64_t results = is_tuple ? static_cast<int64_t>(call.shape().tuple_shapes.size()) : 1;
  const int64_t outputs = results - carries;
  if (outputs < 0) return absl::InvalidArgumentError("gives fewer results than carries");
  std::vector<std::shared_ptr<Literal>> stacked;
  for (int64_t i = 0; i < outputs; ++i) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> output,
                           call.evaluation.NewArray(is_tuple ? call.shape().tuple_shapes[i] : call.shape()));
    if (output->shape().rank() <= dimension || output->shape().dimensions[dimension] != length) {
      return absl::InvalidArgumentError(absl::StrCat("stacks ", length, " slices into ", output->shape().ToString()));
    }
    stacked.push_back(std::move(output));
  }
  for (int64_t step = 0; step < length; ++step) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    const int64_t at = attributes.is_reverse ? length - 1 - step : step;
    std::vector<Value> arguments;
    for (int64_t i = 0; i < arrays; ++i) {
      const Shape& shape = call.operand(i).shape();
      if (shape.dimensions[dimension] != length) return absl::InvalidArgumentError("has arrays of different lengths");
      Shape slice = Shape::Array(shape.element_type, shape.dimensions);
      std::vector<int64_t> strides = shape.Strides();
      const int64_t offset = at * strides[dimension];
      slice.dimensions.erase(slice.dimensions.begin() + dimension);
      strides.erase(strides.begin() + dimension);
      SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> part, call.evaluation.NewArray(slice));
      RunStridedCopy({slice.dimensions, strides, slice.Strides(), offset, 0}, StorageBytes(shape.element_type),
                     call.operand(i).array().raw(), part->raw());
      arguments.push_back(Value(std::move(part)));
    }
    for (Value& carry : state) arguments.push_back(std::move(carry));
    SMELT_ASSIGN_OR_RETURN(Value value, call.evaluation.Run(*call.instruction.called(0), std::move(arguments)));
    const std::vector<Value> parts = value.IsTuple() ? value.elements() : std::vector<Value>{value};
    if (static_cast<int64_t>(parts.size()) != results)
      return absl::InvalidArgumentError("has a body with another number of results");
    for (int64_t i = 0; i < outputs; ++i) {
      const Shape& shape = stacked[i]->shape();
      std::vector<int64_t> strides = shape.Strides();
      const int64_t offset = at * strides[dimension];
      strides.erase(strides.begin() + dimension);
      if (parts[i].shape().ElementCount() * length != shape.ElementCount())
        return absl::InvalidArgumentError("has a body whose slices do not stack up to the result");
      RunStridedCopy({parts[i].shape().dimensions, parts[i].shape().Strides(), strides, 0, offset},
                     StorageBytes(shape.element_type), parts[i].array().raw(), stacked[i]->raw());
    }
    state.assign(parts.begin() + outputs, parts.end());
  }
  if (!is_tuple) return outputs == 1 ? Value(std::move(stacked[0])) : std::move(state[0]);
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& output : stacked) elements.push_back(Value(std::move(output)));
  for (Value& carry : state) elements.push_back(std::move(carry));
  return Value(std::move(elements));
}

}  // namespace smelt::hlo

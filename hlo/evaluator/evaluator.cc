#include "hlo/evaluator/evaluator.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "hlo/evaluator/evaluation.h"
#include "hlo/evaluator/plan.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

// Arguments belong to the caller: no copy and no ownership. The pointer owns nothing, so its count is never one and
// nothing is updated in place.
Value Borrow(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Value> elements;
    for (const Literal& element : literal.elements()) elements.push_back(Borrow(element));
    return Value(std::move(elements));
  }
  if (!literal.IsArray()) return Value();
  return Value(std::shared_ptr<Literal>(std::shared_ptr<void>(), const_cast<Literal*>(&literal)));
}

// A result whose sizes are known only at run time: its elements side by side at the front of an array of its bounds, as
// XLA hands them out.
absl::StatusOr<Literal> Packed(const Value& value) {
  const Shape& shape = value.shape();
  SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::Create(Shape::Array(shape.element_type, shape.dimensions)));
  const std::vector<int64_t>& sizes = *value.runtime_sizes();
  RunStridedCopy({sizes, shape.Strides(), Shape::Array(shape.element_type, sizes).Strides()},
                 StorageBytes(shape.element_type), value.array().raw(), literal.raw());
  return literal;
}

absl::StatusOr<Literal> ToLiteral(Value value) {
  if (value.IsTuple()) {
    std::vector<Literal> elements;
    const bool unique = value.IsUniqueTuple();
    for (Value& element : value.mutable_elements()) {
      SMELT_ASSIGN_OR_RETURN(Literal literal, ToLiteral(unique ? std::move(element) : element));
      elements.push_back(std::move(literal));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!value.IsArray()) return Literal::Create(Shape::Token());
  if (value.runtime_sizes() != nullptr) return Packed(value);
  if (value.IsUnique()) return std::move(*value.TakeArray());
  return Literal(value.array());
}

absl::Status CheckArgument(int64_t number, const Literal& argument, const Shape& shape) {
  if (shape.SameAs(argument.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("argument ", number, ": expected ", shape.ToString(), ", found ", argument.shape().ToString()));
}

}  // namespace

absl::StatusOr<Literal> EvaluateComputation(const Computation& computation, absl::Span<const Literal* const> arguments,
                                            const EvaluateOptions& options) {
  const std::vector<Instruction*> parameters = computation.Parameters();
  if (arguments.size() != parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(computation.name(), " has ", parameters.size(), " parameters, ",
                                                   arguments.size(), " arguments are given"));
  }
  Evaluation evaluation(options);
  std::vector<Value> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i] != nullptr)
      SMELT_RETURN_IF_ERROR(CheckArgument(static_cast<int64_t>(i), *arguments[i], parameters[i]->shape()));
    values.push_back(Borrow(*arguments[i]));
  }
  ScopedFlushSubnormals flush;
  SMELT_ASSIGN_OR_RETURN(Value result, evaluation.Run(computation, std::move(values)));
  return ToLiteral(std::move(result));
}

absl::StatusOr<Literal> Evaluate(const Module& module, absl::Span<const Literal* const> arguments,
                                 const EvaluateOptions& options) {
  if (module.entry() == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("module ", module.name(), " has no entry computation"));
  return EvaluateComputation(*module.entry(), arguments, options);
}

absl::StatusOr<Literal> EvaluateInstruction(const Instruction& instruction, absl::Span<const Literal* const> operands,
                                            const EvaluateOptions& options) {
  if (static_cast<int64_t>(operands.size()) != instruction.operand_count()) {
    return absl::InvalidArgumentError(absl::StrCat("instruction `", instruction.name(), "` has ",
                                                   instruction.operand_count(), " operands, ", operands.size(),
                                                   " are given"));
  }
  Module module("one_instruction");
  Computation* computation = module.AddComputation("entry");
  std::vector<Instruction*> parameters;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    parameters.push_back(
        computation->Add(Opcode::kParameter, instruction.operand(i)->shape(), {}, ParameterAttributes{i}));
  }
  // Called computations stay where they are: the clone only points to them.
  computation->set_root(computation->AddClone(instruction, parameters));
  module.set_entry(computation);
  return EvaluateComputation(*computation, operands, options);
}

}  // namespace smelt::hlo

// Rules that say, for each family of HLO opcodes, which tensor expression an instruction is. te/from_hlo.cc holds the
// table that picks the rule; each rule lives in the file of its family.
//
// A value is a tensor, or one expression that stands for every element (a constant, a broadcast of one, arithmetic on
// such): these never become stages.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/instruction.h"
#include "kernels/te/hlo/algorithm.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

struct Value {
  Tensor tensor;
  Expr uniform;  // where set, `tensor` is not

  bool IsUniform() const { return static_cast<bool>(uniform); }
  Expr At(std::vector<Expr> indices) const { return uniform ? uniform : tensor(std::move(indices)); }
};

// Rules of real numbers see one part of a complex instruction at a time.
enum class NumberPart : uint8_t { kWhole, kReal, kImaginary };

// An instruction under translation: what it is, what its operands have become, and the name its operation gets.
struct RuleInput {
  const hlo::Instruction& instruction;
  std::vector<Value> operands;
  std::string name;
  NumberPart part = NumberPart::kWhole;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kDirect;  // of a convolution

  const Value& operand(int64_t i) const { return operands[i]; }
  const std::vector<int64_t>& dimensions() const { return instruction.shape().dimensions; }
  const std::vector<int64_t>& operand_dimensions(int64_t i) const { return instruction.operand(i)->shape().dimensions; }
  PrimitiveType type() const {  // of the elements that the rule makes
    const PrimitiveType type = instruction.shape().element_type;
    return part == NumberPart::kWhole ? type : hlo::ComplexPart(type);
  }
  // An operation over the instruction's own dimensions, tagged with its opcode.
  Value Emit(const std::function<Expr(Indices)>& body) const;
};

// One value a leaf of the result.
using Rule = absl::StatusOr<std::vector<Value>> (*)(const RuleInput& input);

// hlo/elementwise.cc
absl::StatusOr<std::vector<Value>> ElementwiseRule(const RuleInput& input);
// The element that an elementwise instruction computes from its operands' elements.
absl::StatusOr<Expr> ElementwiseExpr(const hlo::Instruction& instruction, const std::vector<Expr>& operands);

// hlo/scalar_computation.cc: computations of scalars, as reduce, reduce-window and map call them.
absl::StatusOr<std::vector<Expr>> ScalarComputation(const hlo::Computation& computation,
                                                    const std::vector<Expr>& arguments);
absl::StatusOr<std::vector<Value>> MapRule(const RuleInput& input);

// hlo/constant.cc
absl::StatusOr<std::vector<Value>> ConstantRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> IotaRule(const RuleInput& input);

// hlo/movement.cc
absl::StatusOr<std::vector<Value>> BroadcastRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ReshapeRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> BitcastRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> BitcastConvertRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> TransposeRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> SliceRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ReverseRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> PadRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ConcatenateRule(const RuleInput& input);

// hlo/indexed.cc: positions that are data.
absl::StatusOr<std::vector<Value>> DynamicSliceRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> DynamicUpdateSliceRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> GatherRule(const RuleInput& input);

// hlo/reduction.cc, hlo/window.cc
absl::StatusOr<std::vector<Value>> ReduceRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ReduceWindowRule(const RuleInput& input);

// A reduction's combiner from its called computation, ready for te::ReduceMany. Sums and products of 16-bit floats are
// accumulated in f32 and rounded once: `types` are the accumulators'.
struct Reducer {
  std::shared_ptr<const Combiner> combiner;
  std::vector<PrimitiveType> types;
  std::vector<Expr> init;
};
absl::StatusOr<Reducer> MakeReducer(const RuleInput& input);
// The results of an operation that reduces into `reducer.types`, converted to the instruction's types.
std::vector<Value> FinishReduction(const RuleInput& input, const Reducer& reducer, OperationRef reduction);

// hlo/dot.cc, hlo/convolution.cc
absl::StatusOr<std::vector<Value>> DotRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ScaledDotRule(const RuleInput& input);
absl::StatusOr<std::vector<Value>> ConvolutionRule(const RuleInput& input);

// hlo/complex.cc: values of complex numbers are two, the real parts and the imaginary ones.
// `rule`: the opcode's own, of real numbers. `operands`: the values of each.
absl::StatusOr<std::vector<Value>> ComplexRule(const RuleInput& input, Rule rule,
                                               absl::Span<const std::vector<Value>> operands);
// The dimensions as pairs lie in memory: real and imaginary parts in turn, so that the last dimension is twice as long.
std::vector<int64_t> PairDimensions(std::vector<int64_t> dimensions);
std::vector<Value> ComplexInput(const Tensor& pairs, const std::vector<int64_t>& dimensions, const std::string& name);
Tensor ComplexOutput(const Value& real, const Value& imaginary, const std::vector<int64_t>& dimensions,
                     std::string name);

// The type in which sums and products of `type` are accumulated: short floats round once, at the end, and integers of
// less than a byte wrap once.
PrimitiveType AccumulatorType(PrimitiveType type);
// An operand of a contraction whose sum is of `type`. Types that take many instructions to convert become a stage of
// that type, so that a schedule converts an element once and not for each product; others are left as they are.
Value WidenedOperand(const RuleInput& input, const Value& operand, const std::vector<int64_t>& dimensions,
                     PrimitiveType type, std::string_view suffix);
// `source` summed over `axes` in the accumulator type of the result and converted to it, over the dimensions `shape`.
Value EmitContraction(const RuleInput& input, const std::vector<int64_t>& shape,
                      const std::function<Expr(Indices, PrimitiveType)>& source, const std::vector<ReduceAxis>& axes,
                      std::string_view suffix = "");

}  // namespace smelt::kernels::te

#include "kernels/te/hlo/from_hlo.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "hlo/loop_nest.h"
#include "kernels/te/hlo/join_outputs.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

using hlo::Opcode;

struct Entry {
  Opcode opcode;
  Rule rule;
};

// The rules of those opcodes of hlo/loop_nest.h that are not elementwise.
constexpr Entry kRules[] = {
    {Opcode::kConstant, ConstantRule},
    {Opcode::kIota, IotaRule},
    {Opcode::kMap, MapRule},
    {Opcode::kBitcastConvert, BitcastConvertRule},
    {Opcode::kBroadcast, BroadcastRule},
    {Opcode::kReshape, ReshapeRule},
    {Opcode::kBitcast, BitcastRule},
    {Opcode::kTranspose, TransposeRule},
    {Opcode::kSlice, SliceRule},
    {Opcode::kReverse, ReverseRule},
    {Opcode::kPad, PadRule},
    {Opcode::kConcatenate, ConcatenateRule},
    {Opcode::kDynamicSlice, DynamicSliceRule},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSliceRule},
    {Opcode::kGather, GatherRule},
    {Opcode::kReduce, ReduceRule},
    {Opcode::kReduceWindow, ReduceWindowRule},
    {Opcode::kDot, DotRule},
    {Opcode::kScaledDot, ScaledDotRule},
    {Opcode::kConvolution, ConvolutionRule},
};

Rule FindRule(Opcode opcode) {
  for (const Entry& entry : kRules) {
    if (entry.opcode == opcode) return entry.rule;
  }
  return hlo::IsElementwise(opcode) ? ElementwiseRule : nullptr;
}

// Values that stand for it: two for complex numbers.
size_t ValuesOf(const hlo::Shape& shape) {
  if (!shape.IsTuple()) return hlo::IsComplex(shape.element_type) ? 2 : 1;
  size_t values = 0;
  for (const hlo::Shape& element : shape.tuple_shapes) values += ValuesOf(element);
  return values;
}

// Names follow from opcodes and order, not from the program's names, so that equal kernels have equal traces.
std::string StageName(const hlo::Instruction& instruction, int64_t number) {
  return absl::StrCat(absl::StrReplaceAll(std::string(hlo::OpcodeName(instruction.opcode())), {{"-", "_"}}), "_",
                      number);
}

// A tensor of its own, for an output that is an input, a constant or another output as well.
Tensor CopyOf(const Value& value, const hlo::Shape& shape, std::string name) {
  return Compute(
      std::move(name), shape.dimensions,
      [&](Indices indices) { return value.At(std::vector<Expr>(indices.begin(), indices.end())); }, "copy");
}

// One of the bitcasts through which alone a parameter is read, all to one shape of fewer dimensions, in row-major
// order: the parameter may as well have that shape, and merged dimensions are not taken apart at every element. Null
// where it is read otherwise. (A bitcast to more dimensions divides nothing, and drops those of one element.)
const hlo::Instruction* ViewOf(const hlo::Instruction& parameter) {
  if (parameter.users().empty() || !parameter.shape().IsArray() || !parameter.shape().HasDefaultLayout())
    return nullptr;
  const hlo::Instruction* view = parameter.users()[0];
  if (view->shape().rank() >= parameter.shape().rank()) return nullptr;
  const bool all = std::all_of(parameter.users().begin(), parameter.users().end(), [&](const hlo::Instruction* user) {
    return user->opcode() == Opcode::kBitcast && !user->IsRoot() && user->shape().HasDefaultLayout() &&
           user->shape().element_type == parameter.shape().element_type && user->shape().SameAs(view->shape());
  });
  return all ? view : nullptr;
}

class Translator {
 public:
  explicit Translator(ConvolutionAlgorithm algorithm) : algorithm_(algorithm) {}

  absl::StatusOr<Graph> Run(const hlo::Computation& kernel) {
    SMELT_RETURN_IF_ERROR(CheckAlgorithm(kernel, algorithm_));
    SMELT_RETURN_IF_ERROR(hlo::HasLoopNest(kernel));
    int64_t number = 0;
    for (const hlo::Instruction* parameter : kernel.Parameters()) {
      if (parameter == nullptr) return absl::InvalidArgumentError(absl::StrCat(kernel.name(), " lacks a parameter"));
      const std::string name = absl::StrCat("p", inputs_.size());
      const hlo::Instruction* view = ViewOf(*parameter);
      const hlo::Shape& shape = view == nullptr ? parameter->shape() : view->shape();
      const bool complex = hlo::IsComplex(shape.element_type);
      Tensor tensor = complex
                          ? Placeholder(name, PairDimensions(shape.dimensions), hlo::ComplexPart(shape.element_type))
                          : Placeholder(name, shape.dimensions, shape.element_type);
      inputs_.push_back(tensor);
      values_[parameter] =
          complex ? ComplexInput(tensor, shape.dimensions, name) : std::vector<Value>{{tensor, Expr()}};
      if (view == nullptr) continue;
      const std::vector<Value> values = values_[parameter];
      for (const hlo::Instruction* user : parameter->users()) values_[user] = values;
    }
    for (const hlo::Instruction* instruction : kernel.PostOrder()) {
      if (instruction->opcode() == Opcode::kParameter) continue;
      const int64_t here = number++;
      if (!values_.contains(instruction)) SMELT_RETURN_IF_ERROR(Translate(*instruction, here));
    }
    SMELT_RETURN_IF_ERROR(Outputs(*kernel.root()));
    return JoinOutputs(MakeGraph(inputs_, outputs_));
  }

 private:
  absl::Status Translate(const hlo::Instruction& instruction, int64_t number) {
    std::vector<Value>& results = values_[&instruction];
    if (instruction.opcode() == Opcode::kTuple) {
      for (const hlo::Instruction* operand : instruction.operands()) {
        const std::vector<Value>& of_operand = values_.at(operand);
        results.insert(results.end(), of_operand.begin(), of_operand.end());
      }
      return absl::OkStatus();
    }
    if (instruction.opcode() == Opcode::kGetTupleElement) {
      const std::vector<Value>& tuple = values_.at(instruction.operand(0));
      const int64_t index = instruction.attributes<hlo::TupleIndexAttributes>().index;
      const std::vector<hlo::Shape>& elements = instruction.operand(0)->shape().tuple_shapes;
      if (index < 0 || index >= static_cast<int64_t>(elements.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat(instruction.name(), " takes element ", index, " of ", elements.size()));
      }
      size_t first = 0;
      for (int64_t i = 0; i < index; ++i) first += ValuesOf(elements[i]);
      results.assign(tuple.begin() + first, tuple.begin() + first + ValuesOf(elements[index]));
      return absl::OkStatus();
    }
    RuleInput input{.instruction = instruction, .name = StageName(instruction, number), .algorithm = algorithm_};
    const Rule rule = FindRule(instruction.opcode());
    if (rule == nullptr) {
      return absl::InternalError(absl::StrCat(instruction.name(), " should have a loop nest and has no rule"));
    }
    if (hlo::HasComplexNumbers(instruction)) {
      std::vector<std::vector<Value>> operands;
      for (const hlo::Instruction* operand : instruction.operands()) operands.push_back(values_.at(operand));
      SMELT_ASSIGN_OR_RETURN(results, ComplexRule(input, rule, operands));
      return absl::OkStatus();
    }
    for (const hlo::Instruction* operand : instruction.operands()) input.operands.push_back(values_.at(operand)[0]);
    SMELT_ASSIGN_OR_RETURN(results, rule(input));
    return absl::OkStatus();
  }

  absl::Status Outputs(const hlo::Instruction& root) {
    std::vector<const hlo::Shape*> shapes;
    root.shape().AppendLeaves(&shapes);
    const std::vector<Value>& values = values_.at(&root);
    if (ValuesOf(root.shape()) != values.size()) {
      return absl::UnimplementedError(absl::StrCat(root.name(), ": a kernel's result is an array or a flat tuple"));
    }
    absl::flat_hash_set<std::pair<const Operation*, int>> taken;
    size_t next = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Value& value = values[next++];
      if (hlo::IsComplex(shapes[i]->element_type)) {
        outputs_.push_back(ComplexOutput(value, values[next++], shapes[i]->dimensions, absl::StrCat("output_", i)));
        continue;
      }
      const bool fresh = !value.IsUniform() && value.tensor.op->kind == OperationKind::kCompute &&
                         taken.insert({value.tensor.op.get(), value.tensor.output}).second;
      outputs_.push_back(fresh ? value.tensor : CopyOf(value, *shapes[i], absl::StrCat("output_", i)));
    }
    return absl::OkStatus();
  }

  const ConvolutionAlgorithm algorithm_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  absl::flat_hash_map<const hlo::Instruction*, std::vector<Value>> values_;
};

}  // namespace

Value RuleInput::Emit(const std::function<Expr(Indices)>& body) const {
  return {Compute(name, dimensions(), body, std::string(hlo::OpcodeName(instruction.opcode()))), Expr()};
}

absl::StatusOr<Graph> FromHlo(const hlo::Computation& kernel, ConvolutionAlgorithm algorithm) {
  return Translator(algorithm).Run(kernel);
}

}  // namespace smelt::kernels::te

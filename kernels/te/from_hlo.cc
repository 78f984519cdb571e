#include "kernels/te/from_hlo.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/status_macros.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

using hlo::Opcode;

struct Entry {
  Opcode opcode;
  Rule rule;
  RuleCheck check = nullptr;
  std::string_view condition = {};  // what the check asks for
};

// What has a loop nest, besides the elementwise opcodes.
constexpr Entry kRules[] = {
    {Opcode::kConstant, ConstantRule, CheckConstant, "of few elements or one value"},
    {Opcode::kIota, IotaRule},
    {Opcode::kMap, MapRule, CheckMap, "of a computation of elementwise opcodes"},
    {Opcode::kBitcastConvert, BitcastConvertRule, CheckBitcastConvert, "between types of one width"},
    {Opcode::kBroadcast, BroadcastRule},
    {Opcode::kReshape, ReshapeRule},
    {Opcode::kBitcast, BitcastRule, CheckBitcast, "between types of one width"},
    {Opcode::kTranspose, TransposeRule},
    {Opcode::kSlice, SliceRule},
    {Opcode::kReverse, ReverseRule},
    {Opcode::kPad, PadRule},
    {Opcode::kConcatenate, ConcatenateRule},
    {Opcode::kDynamicSlice, DynamicSliceRule},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSliceRule},
    {Opcode::kGather, GatherRule},
    {Opcode::kReduce, ReduceRule, CheckReduce, "by a computation of elementwise opcodes"},
    {Opcode::kReduceWindow, ReduceWindowRule, CheckReduce, "by a computation of elementwise opcodes"},
    {Opcode::kDot, DotRule},
    {Opcode::kScaledDot, ScaledDotRule, CheckScaledDot, "of scales that divide the operands"},
    {Opcode::kConvolution, ConvolutionRule},
};

constexpr Entry kElementwise{Opcode::kAdd, ElementwiseRule, CheckElementwise};

const Entry* FindRule(Opcode opcode) {
  for (const Entry& entry : kRules) {
    if (entry.opcode == opcode) return &entry;
  }
  return hlo::IsElementwise(opcode) ? &kElementwise : nullptr;
}

// Why those that run as opaque operations do.
struct Reason {
  Opcode opcode;
  std::string_view why;
};
constexpr Reason kOpaque[] = {
    {Opcode::kSort, "a sort compares elements in an order that data decides"},
    {Opcode::kTopK, "top-k orders elements as data decides"},
    {Opcode::kScatter, "a scatter writes where data says, possibly twice"},
    {Opcode::kSelectAndScatter, "select-and-scatter writes where data says"},
    {Opcode::kFft, "a Fourier transform is not one loop nest"},
    {Opcode::kCholesky, "a factorisation carries its result from step to step"},
    {Opcode::kTriangularSolve, "a triangular solve carries its result from step to step"},
    {Opcode::kScan, "a scan carries its result from step to step"},
    {Opcode::kRng, "a random number generator has a state"},
    {Opcode::kRngBitGenerator, "a random number generator has a state"},
    {Opcode::kRngGetAndUpdateState, "a random number generator has a state"},
    {Opcode::kCustomCall, "what a custom call does is not known here"},
    {Opcode::kBatchNormTraining, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kBatchNormInference, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kBatchNormGrad, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kPartitionId, "there is one device, and nothing to loop over"},
    {Opcode::kReplicaId, "there is one device, and nothing to loop over"},
    {Opcode::kGetDimensionSize, "a size that is known only at run time comes with its array"},
    {Opcode::kSetDimensionSize, "a size that is known only at run time goes with its array"},
    {Opcode::kDynamicReshape, "sizes that are known only at run time go with their array"},
    {Opcode::kRaggedDot, "rows belong to groups whose sizes data decides"},
    {Opcode::kFusion, "a fusion's own computation is the kernel"},
};

bool HasLoops(PrimitiveType type) {
  return type == PrimitiveType::kPred || hlo::IsInteger(type) || hlo::IsFloat(type) || hlo::IsComplex(type);
}

// Values that stand for it: two for complex numbers.
size_t ValuesOf(const hlo::Shape& shape) {
  if (!shape.IsTuple()) return hlo::IsComplex(shape.element_type) ? 2 : 1;
  size_t values = 0;
  for (const hlo::Shape& element : shape.tuple_shapes) values += ValuesOf(element);
  return values;
}

absl::Status CheckShape(const hlo::Instruction& instruction, const hlo::Shape& shape, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    return absl::UnimplementedError(absl::StrCat(instruction.name(), ": ", what, " ", shape.ToString(), " ", why));
  };
  if (shape.IsTuple()) {
    for (const hlo::Shape& element : shape.tuple_shapes) {
      if (element.IsTuple()) return refuse("nests tuples, which have no loop nest");
      SMELT_RETURN_IF_ERROR(CheckShape(instruction, element, what));
    }
    return absl::OkStatus();
  }
  if (!shape.IsArray()) return refuse("is not an array, so there is no loop nest");
  if (!HasLoops(shape.element_type)) {
    return refuse(absl::StrCat("has element type ", std::string(hlo::PrimitiveTypeName(shape.element_type)),
                               ", for which loop nests are not generated"));
  }
  if (shape.IsDynamic()) return refuse("has dynamic dimensions, which loop nests do not");
  if (shape.ElementCount() == 0) return refuse("has no elements to loop over");
  return absl::OkStatus();
}

absl::Status CheckParameter(const hlo::Instruction& parameter) {
  SMELT_RETURN_IF_ERROR(CheckShape(parameter, parameter.shape(), "parameter"));
  if (parameter.shape().IsArray()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(parameter.name(), ": a kernel's parameters are arrays, this is a tuple"));
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

class Translator {
 public:
  absl::StatusOr<Graph> Run(const hlo::Computation& kernel) {
    int64_t number = 0;
    std::vector<const hlo::Instruction*> parameters;
    for (const hlo::Instruction* parameter : kernel.Parameters()) {
      if (parameter == nullptr) return absl::InvalidArgumentError(absl::StrCat(kernel.name(), " lacks a parameter"));
      SMELT_RETURN_IF_ERROR(CheckParameter(*parameter));
      const std::string name = absl::StrCat("p", inputs_.size());
      const hlo::Shape& shape = parameter->shape();
      const bool complex = hlo::IsComplex(shape.element_type);
      Tensor tensor = complex
                          ? Placeholder(name, PairDimensions(shape.dimensions), hlo::ComplexPart(shape.element_type))
                          : Placeholder(name, shape.dimensions, shape.element_type);
      inputs_.push_back(tensor);
      values_[parameter] =
          complex ? ComplexInput(tensor, shape.dimensions, name) : std::vector<Value>{{tensor, Expr()}};
    }
    for (const hlo::Instruction* instruction : kernel.PostOrder()) {
      if (instruction->opcode() == Opcode::kParameter) continue;
      SMELT_RETURN_IF_ERROR(Translate(*instruction, number++));
    }
    SMELT_RETURN_IF_ERROR(Outputs(*kernel.root()));
    return MakeGraph(inputs_, outputs_);
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
    SMELT_RETURN_IF_ERROR(HasLoopNest(instruction));
    RuleInput input{instruction, {}, StageName(instruction, number)};
    const Rule rule = FindRule(instruction.opcode())->rule;
    if (HasComplexNumbers(instruction)) {
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

  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  absl::flat_hash_map<const hlo::Instruction*, std::vector<Value>> values_;
};

}  // namespace

Value RuleInput::Emit(const std::function<Expr(Indices)>& body) const {
  return {Compute(name, dimensions(), body, std::string(hlo::OpcodeName(instruction.opcode()))), Expr()};
}

absl::Status HasLoopNest(const hlo::Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const Entry* entry = FindRule(opcode);
  if (entry == nullptr) {
    const auto reason =
        std::find_if(std::begin(kOpaque), std::end(kOpaque), [&](const Reason& row) { return row.opcode == opcode; });
    if (reason != std::end(kOpaque))
      return absl::UnimplementedError(absl::StrCat(instruction.name(), ": ", std::string(reason->why)));
    return absl::UnimplementedError(
        absl::StrCat(instruction.name(), ": ", std::string(hlo::OpcodeName(opcode)), " has no loop nest"));
  }
  SMELT_RETURN_IF_ERROR(CheckShape(instruction, instruction.shape(), "the result"));
  for (const hlo::Instruction* operand : instruction.operands()) {
    SMELT_RETURN_IF_ERROR(CheckShape(instruction, operand->shape(), absl::StrCat("operand ", operand->name())));
  }
  if (HasComplexNumbers(instruction)) SMELT_RETURN_IF_ERROR(CheckComplex(instruction));
  return entry->check == nullptr ? absl::OkStatus() : entry->check(instruction);
}

OpcodeLoops LoopsOf(Opcode opcode) {
  if (const Entry* entry = FindRule(opcode)) return {true, entry->condition};
  for (const Reason& reason : kOpaque) {
    if (reason.opcode == opcode) return {false, reason.why};
  }
  return {false, "it has no loop nest"};
}

absl::Status HasLoopNest(const hlo::Computation& kernel) {
  for (const hlo::Instruction* instruction : kernel.PostOrder()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement) continue;
    SMELT_RETURN_IF_ERROR(opcode == Opcode::kParameter ? CheckParameter(*instruction) : HasLoopNest(*instruction));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> FromHlo(const hlo::Computation& kernel) { return Translator().Run(kernel); }

}  // namespace smelt::kernels::te

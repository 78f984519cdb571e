#include "hlo/shape_inference/shape_inference.h"

#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"
#include "base/status_macros.h"
#include "hlo/attribute_family.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo {
namespace shape_inference {

using enum Opcode;

namespace {

std::array<Rule, kOpcodeCount> MakeRules() {
  struct Row {
    Rule rule;
    std::vector<Opcode> opcodes;
  };
  // What is not here has no rule: custom calls, and the parts of collectives that only other devices know.
  const Row rows[] = {
      {Select, {kSelect}},
      {Clamp, {kClamp}},
      {Convert, {kConvert}},
      {BitcastConvert, {kBitcastConvert}},
      {StochasticConvert, {kStochasticConvert}},
      {Map, {kMap}},
      {Reshape, {kReshape}},
      {DynamicReshape, {kDynamicReshape}},
      {Bitcast, {kBitcast}},
      {Broadcast, {kBroadcast}},
      {Transpose, {kTranspose}},
      {Slice, {kSlice}},
      {DynamicSlice, {kDynamicSlice}},
      {DynamicUpdateSlice, {kDynamicUpdateSlice}},
      {Pad, {kPad}},
      {Concatenate, {kConcatenate}},
      {Reverse, {kReverse}},
      {Iota, {kIota}},
      {GetDimensionSize, {kGetDimensionSize}},
      {SetDimensionSize, {kSetDimensionSize}},
      {Gather, {kGather}},
      {Scatter, {kScatter}},
      {Dot, {kDot, kScaledDot}},
      {RaggedDot, {kRaggedDot}},
      {Convolution, {kConvolution}},
      {Reduce, {kReduce}},
      {ReduceWindow, {kReduceWindow}},
      {SelectAndScatter, {kSelectAndScatter}},
      {BatchNormTraining, {kBatchNormTraining}},
      {BatchNormInference, {kBatchNormInference}},
      {BatchNormGrad, {kBatchNormGrad}},
      {Scan, {kScan}},
      {Sort, {kSort}},
      {TopK, {kTopK}},
      {Tuple, {kTuple}},
      {GetTupleElement, {kGetTupleElement}},
      {Call, {kCall, kFusion}},
      {While, {kWhile}},
      {Conditional, {kConditional}},
      {SameAsOperand, {kOptimizationBarrier, kAddDependency, kDomain}},
      {AfterAll, {kAfterAll}},
      {Constant, {kConstant}},
      {Parameter, {kParameter}},
      {DeviceId, {kPartitionId, kReplicaId}},
      {Fft, {kFft}},
      {Cholesky, {kCholesky}},
      {TriangularSolve, {kTriangularSolve}},
      {Rng, {kRng}},
      {RngBitGenerator, {kRngBitGenerator}},
      {RngState, {kRngGetAndUpdateState}},
      {AllGather, {kAllGather}},
      {AllReduce, {kAllReduce}},
      {ReduceScatter, {kReduceScatter}},
      {AllToAll, {kAllToAll}},
      {CollectivePermute, {kCollectivePermute}},
      {CollectiveBroadcast, {kCollectiveBroadcast}},
      {CopyStart, {kCopyStart}},
      {CopyDone, {kCopyDone}},
      {AsyncStart, {kAsyncStart}},
      {AsyncUpdate, {kAsyncUpdate}},
      {AsyncDone, {kAsyncDone}},
      {Infeed, {kInfeed}},
      {Outfeed, {kOutfeed}},
      {Send, {kSend}},
      {SendDone, {kSendDone}},
      {Recv, {kRecv}},
      {RecvDone, {kRecvDone}},
  };
  std::array<Rule, kOpcodeCount> rules{};
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpcodeCategory category = GetOpcodeInfo(static_cast<Opcode>(i)).category;
    if (category == OpcodeCategory::kElementwiseUnary) rules[i] = ElementwiseUnary;
    if (category == OpcodeCategory::kElementwiseBinary) rules[i] = ElementwiseBinary;
  }
  for (const Row& row : rows) {
    for (Opcode opcode : row.opcodes) rules[static_cast<int>(opcode)] = row.rule;
  }
  return rules;
}

}  // namespace

Rule RuleOf(Opcode opcode) {
  static const auto& rules = *new std::array<Rule, kOpcodeCount>(MakeRules());
  return rules[static_cast<int>(opcode)];
}

std::string Describe(const Request& request, int64_t operand) {
  return StrCat("`", request.operands[operand]->name(), "` of shape ", request.shape(operand).ToString());
}

std::string ToString(absl::Span<const int64_t> values) {
  std::string text = "{";
  for (int64_t value : values) StrAppend(&text, text.size() > 1 ? "," : "", value);
  return text + "}";
}

absl::Status ExpectOperands(const Request& request, int64_t count) {
  if (request.operand_count() == count) return absl::OkStatus();
  return Refuse(request, "takes ", count, count == 1 ? " operand" : " operands", ", has ", request.operand_count());
}

absl::Status ExpectArray(const Request& request, int64_t operand) {
  if (request.shape(operand).IsArray()) return absl::OkStatus();
  return Refuse(request, "operand ", operand, " must be an array, is ", Describe(request, operand));
}

absl::StatusOr<Shape> Declared(const Request& request) {
  if (request.declared == nullptr) return Refuse(request, "the operands do not decide the shape, so it must be given");
  return *request.declared;
}

absl::StatusOr<Shape> DeclaredArray(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape shape, Declared(request));
  if (!shape.IsArray()) return Refuse(request, "the result must be an array, is ", shape.ToString());
  return shape;
}

absl::Status ExpectDistinct(const Request& request, std::string_view what, absl::Span<const int64_t> dimensions,
                            int64_t rank) {
  absl::InlinedVector<bool, 16> seen(rank);
  for (int64_t d : dimensions) {
    if (d < 0 || d >= rank) {
      return Refuse(request, what, " ", ToString(dimensions), " must be dimensions of an array of rank ", rank, ", ", d,
                    " is not");
    }
    if (seen[d]) return Refuse(request, what, " ", ToString(dimensions), " names dimension ", d, " twice");
    seen[d] = true;
  }
  return absl::OkStatus();
}

absl::Status ExpectCalled(const Request& request, int64_t count) {
  if (static_cast<int64_t>(request.called.size()) != count) {
    return Refuse(request, "calls ", count, count == 1 ? " computation" : " computations", ", has ",
                  request.called.size());
  }
  for (const Computation* called : request.called) {
    if (called == nullptr || called->root() == nullptr) return Refuse(request, "calls a computation without a root");
  }
  return absl::OkStatus();
}

absl::Status ExpectParameters(const Request& request, const Computation& called, absl::Span<const Shape> shapes) {
  const std::vector<Instruction*> parameters = called.Parameters();
  if (parameters.size() != shapes.size()) {
    return Refuse(request, "computation `", called.name(), "` must take ", shapes.size(), " parameters, takes ",
                  parameters.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (parameters[i] == nullptr) return Refuse(request, "computation `", called.name(), "` has no parameter ", i);
    if (!parameters[i]->shape().SameAs(shapes[i])) {
      return Refuse(request, "parameter ", i, " of computation `", called.name(), "` must be ", shapes[i].ToString(),
                    ", is ", parameters[i]->shape().ToString());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> Sized(const Request& request, Shape shape) {
  if (shape.SizeFits()) return shape;
  return Refuse(request, "the result ", shape.ToString(), " has more than 2^60 bytes");
}

}  // namespace shape_inference

namespace {

using shape_inference::Request;

absl::StatusOr<Shape> ApplyRule(const Request& request) {
  const int arity = GetOpcodeInfo(request.opcode).arity;
  if (arity != kVariadic && request.operand_count() != arity) return shape_inference::ExpectOperands(request, arity);
  if (!HasFamilyOf(request.attributes, request.opcode)) {
    return shape_inference::Refuse(request, "carries the attributes of another opcode");
  }
  const shape_inference::Rule rule = shape_inference::RuleOf(request.opcode);
  return rule != nullptr ? rule(request) : shape_inference::Declared(request);
}

// Sizes equal, or unknown on one side.
bool Agree(const Shape& a, const Shape& b) {
  if (a.element_type != b.element_type || a.dimensions.size() != b.dimensions.size() ||
      a.tuple_shapes.size() != b.tuple_shapes.size()) {
    return false;
  }
  for (size_t i = 0; i < a.dimensions.size(); ++i) {
    if (!shape_inference::SizesAgree(a.dimensions[i], b.dimensions[i])) return false;
  }
  for (size_t i = 0; i < a.tuple_shapes.size(); ++i) {
    if (!Agree(a.tuple_shapes[i], b.tuple_shapes[i])) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Shape> InferShape(Opcode opcode, absl::Span<const Instruction* const> operands,
                                 const Attributes& attributes, absl::Span<Computation* const> called) {
  const bool none = std::holds_alternative<std::monostate>(attributes);
  return ApplyRule({opcode, operands, none ? EmptyAttributes(opcode) : attributes, called, nullptr});
}

absl::StatusOr<Instruction*> AddInferred(Computation& computation, Opcode opcode, std::vector<Instruction*> operands,
                                         Attributes attributes, std::vector<Computation*> called,
                                         std::string_view name) {
  if (std::holds_alternative<std::monostate>(attributes)) attributes = EmptyAttributes(opcode);
  SMELT_ASSIGN_OR_RETURN(Shape shape, InferShape(opcode, operands, attributes, called));
  return computation.Add(opcode, std::move(shape), std::move(operands), std::move(attributes), name, std::move(called));
}

absl::Status CheckShape(const Instruction& instruction) {
  const OpcodeInfo& info = GetOpcodeInfo(instruction.opcode());
  if (info.arity == instruction.operand_count() && HasFamilyOf(instruction.all_attributes(), instruction.opcode()) &&
      (info.category == OpcodeCategory::kElementwiseUnary || info.category == OpcodeCategory::kElementwiseBinary) &&
      shape_inference::ElementwiseFitsAtAGlance({instruction.opcode(), instruction.operands(),
                                                 instruction.all_attributes(), instruction.called(),
                                                 &instruction.shape()})) {
    return absl::OkStatus();
  }
  SMELT_ASSIGN_OR_RETURN(const Shape shape,
                         ApplyRule({instruction.opcode(), instruction.operands(), instruction.all_attributes(),
                                    instruction.called(), &instruction.shape()}));
  if (Agree(shape, instruction.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(OpcodeName(instruction.opcode()), ": the result must be ", shape.ToString(),
                                           ", is ", instruction.shape().ToString()));
}

}  // namespace smelt::hlo

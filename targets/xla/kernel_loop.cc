#include "targets/xla/kernel_loop.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "measure/kernel_program.h"
#include "targets/xla/default_layouts.h"
#include "targets/xla/program.h"

namespace smelt::xla {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// The argument that the kernel's result takes the place of, or -1.
int64_t UpdatedArgument(const Computation& kernel) {
  const Instruction* root = kernel.root();
  if (root->opcode() != Opcode::kDynamicUpdateSlice && root->opcode() != Opcode::kScatter) return -1;
  if (!root->shape().IsArray()) return -1;
  const Instruction* updated = root->operand(0);
  while (updated->opcode() == Opcode::kBitcast && updated->shape().ByteSize() == root->shape().ByteSize())
    updated = updated->operand(0);
  if (updated->opcode() != Opcode::kParameter || updated->shape().dimensions != root->shape().dimensions) return -1;
  return updated->attributes<hlo::ParameterAttributes>().number;
}

Shape Scalar(hlo::PrimitiveType type) {
  Shape shape = Shape::Array(type, {});
  shape.layout = hlo::Layout();
  return shape;
}

hlo::ConstantAttributes Number(int32_t value) {
  return {
      std::make_shared<const hlo::Literal>(hlo::Literal::FromValues<int32_t>(hlo::PrimitiveType::kS32, {}, {value}))};
}

// The same bytes in the default layout: what arguments from outside have.
Shape AsItLies(const Shape& shape) {
  std::vector<int64_t> dimensions;
  hlo::Layout layout;
  for (int64_t d : MajorToMinor(shape)) dimensions.push_back(shape.dimensions[d]);
  for (size_t d = dimensions.size(); d-- > 0;) layout.minor_to_major.push_back(static_cast<int64_t>(d));
  if (shape.layout) layout.element_size_in_bits = shape.layout->element_size_in_bits;
  Shape lies = Shape::Array(shape.element_type, std::move(dimensions));
  lies.layout = std::move(layout);
  return lies;
}

class LoopBuilder {
 public:
  LoopBuilder(hlo::Module* module, int64_t updated) : module_(module), once_(module->entry()), updated_(updated) {
    std::vector<Shape> elements = {Counter(), Counter()};  // runs done, and wanted
    for (const Instruction* parameter : once_->Parameters()) elements.push_back(parameter->shape());
    state_ = Shape::Tuple(std::move(elements));
  }

  void Build() {
    Computation* body = Body();
    Computation* condition = Condition();
    Computation* entry = module_->AddComputation("loop");
    Instruction* runs = entry->Add(Opcode::kParameter, Counter(), {}, hlo::ParameterAttributes{0}, "runs");
    Instruction* zero = entry->Add(Opcode::kConstant, Counter(), {}, Number(0));
    std::vector<Instruction*> state = {entry->Add(Opcode::kCopy, Counter(), {zero}), runs};
    for (size_t i = 2; i < state_.tuple_shapes.size(); ++i) {
      const Shape& shape = state_.tuple_shapes[i];
      const Shape lies = AsItLies(shape);
      Instruction* value =
          entry->Add(Opcode::kParameter, lies, {}, hlo::ParameterAttributes{static_cast<int64_t>(i) - 1});
      if (lies.dimensions != shape.dimensions || !shape.HasDefaultLayout())
        value = entry->Add(Opcode::kBitcast, shape, {value});
      if (static_cast<int64_t>(i) - 2 == updated_) value = entry->Add(Opcode::kCopy, shape, {value});
      state.push_back(value);
    }
    Instruction* initial = entry->Add(Opcode::kTuple, state_, state);
    Instruction* loop = entry->Add(Opcode::kWhile, state_, {initial}, {}, "", {body, condition});
    Instruction* count = entry->Add(Opcode::kGetTupleElement, Counter(), {loop}, hlo::TupleIndexAttributes{0});
    entry->set_root(entry->Add(Opcode::kCopy, Counter(), {count}));
    module_->set_entry(entry);
    module_->RemoveComputation(once_);
  }

 private:
  static Shape Counter() { return Scalar(hlo::PrimitiveType::kS32); }
  Instruction* Element(Computation* computation, Instruction* state, int64_t i) {
    return computation->Add(Opcode::kGetTupleElement, state_.tuple_shapes[i], {state}, hlo::TupleIndexAttributes{i});
  }

  Computation* Body() {
    Computation* body = module_->AddComputation("body");
    Instruction* state = body->Add(Opcode::kParameter, state_, {}, hlo::ParameterAttributes{0});
    std::vector<Instruction*> next;
    for (int64_t i = 0; i < static_cast<int64_t>(state_.tuple_shapes.size()); ++i)
      next.push_back(Element(body, state, i));
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    const std::vector<Instruction*> parameters = once_->Parameters();
    for (size_t p = 0; p < parameters.size(); ++p) copies[parameters[p]] = next[p + 2];
    for (const Instruction* instruction : once_->PostOrder()) {
      if (copies.contains(instruction)) continue;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
      copies[instruction] = body->AddClone(*instruction, operands);
    }
    Instruction* result = copies.at(once_->root());
    Instruction* one = body->Add(Opcode::kConstant, Counter(), {}, Number(1));
    Instruction* counted = body->Add(Opcode::kAdd, Counter(), {next[0], one});
    if (updated_ >= 0) {
      next[updated_ + 2] = result;
    } else {
      counted->AddControlPredecessor(result);  // or nothing would need it
    }
    next[0] = counted;
    body->set_root(body->Add(Opcode::kTuple, state_, next));
    return body;
  }

  Computation* Condition() {
    Computation* condition = module_->AddComputation("condition");
    Instruction* state = condition->Add(Opcode::kParameter, state_, {}, hlo::ParameterAttributes{0});
    Instruction* done = Element(condition, state, 0);
    condition->set_root(condition->Add(Opcode::kCompare, Scalar(hlo::PrimitiveType::kPred),
                                       {done, Element(condition, state, 1)},
                                       hlo::CompareAttributes{hlo::ComparisonDirection::kLt}));
    return condition;
  }

  hlo::Module* module_;
  Computation* once_;  // the kernel with its arguments as parameters
  const int64_t updated_;
  Shape state_;
};

// The loop as the child takes it.
absl::StatusOr<std::string> LoopText(const fusion::Kernel& kernel, const LoopFusionOptions& options) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> loop, KernelLoop(kernel, options));
  SMELT_ASSIGN_OR_RETURN(measure::Candidate candidate, XlaCandidate(*loop));
  return std::move(candidate.module_text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<hlo::Module>> KernelLoop(const fusion::Kernel& kernel,
                                                        const LoopFusionOptions& options) {
  for (const Instruction* parameter : kernel.computation().Parameters()) {
    if (!parameter->shape().IsArray()) {
      return absl::UnimplementedError(StrCat("kernel `", kernel.name, "` takes a ", parameter->shape().ToString(),
                                             ", which cannot be given to XLA from outside"));
    }
  }
  const int64_t updated = UpdatedArgument(kernel.computation());
  std::unique_ptr<hlo::Module> module = measure::ProgramOfKernel(kernel);
  ToLoopFusions(options, module.get());
  LoopBuilder(module.get(), updated).Build();
  return module;
}

measure::Outcome TimeKernelOnXla(measure::Runner& runner, const fusion::Kernel& kernel,
                                 const LoopFusionOptions& options, const fusion::Kernel* reference) {
  const absl::StatusOr<std::string> loop = LoopText(kernel, options);
  const absl::StatusOr<std::string> beside =
      reference == nullptr ? "" : LoopText(*reference, {.threads = options.threads});
  if (loop.ok() && beside.ok()) return runner.TimeKernelLoop(*loop, *beside).outcome;
  measure::Outcome outcome;
  outcome.failure = measure::Failure::kBuildFailed;
  outcome.message = std::string((loop.ok() ? beside : loop).status().message());
  return outcome;
}

fusion::Kernel EmptyKernel() {
  fusion::Kernel kernel;
  kernel.name = "empty";
  kernel.module = std::make_unique<hlo::Module>("empty");
  Computation* computation = kernel.module->AddComputation("kernel");
  const Shape scalar = Scalar(hlo::PrimitiveType::kF32);
  Instruction* parameter = computation->Add(Opcode::kParameter, scalar, {}, hlo::ParameterAttributes{0});
  computation->set_root(computation->Add(Opcode::kNegate, scalar, {parameter}));
  kernel.module->set_entry(computation);
  return kernel;
}

}  // namespace smelt::xla

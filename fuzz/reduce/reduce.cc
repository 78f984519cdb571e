#include "fuzz/reduce/reduce.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/str_cat.h"
#include "fuzz/reduce/search.h"
#include "hlo/literal.h"
#include "hlo/passes/dead_code.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace smelt::fuzz {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

// Instructions, elements, characters.
using Size = std::tuple<int64_t, int64_t, int64_t>;

Size SizeOf(const hlo::Module& module) {
  int64_t elements = 0, instructions = 0;
  for (const Instruction* instruction : AllInstructions(module)) {
    std::vector<const Shape*> leaves;
    instruction->shape().AppendLeaves(&leaves);
    for (const Shape* leaf : leaves) {
      if (!leaf->IsArray() || !leaf->SizeFits()) continue;
      elements = std::min<int64_t>(elements + leaf->ElementCount() + leaf->rank(), int64_t{1} << 60);
    }
    // What stands in for a part that was cut off weighs less than anything that computes.
    const bool is_input =
        instruction->opcode() == Opcode::kParameter || instruction->opcode() == Opcode::kConstant ||
        (instruction->opcode() == Opcode::kBroadcast && instruction->operand(0)->opcode() == Opcode::kConstant);
    instructions += is_input ? 1 : 4;
  }
  return {instructions, elements, static_cast<int64_t>(hlo::ToText(module).size())};
}

}  // namespace

std::vector<Instruction*> AllInstructions(const hlo::Module& module) {
  std::vector<Instruction*> all;
  for (const hlo::Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->Instructions()) all.push_back(instruction);
  }
  return all;
}

Instruction* MakeConstant(hlo::Computation& computation, const Shape& shape, double value) {
  if (shape.IsTuple()) {
    std::vector<Instruction*> elements;
    for (const Shape& element : shape.tuple_shapes) {
      elements.push_back(MakeConstant(computation, element, value));
      if (elements.back() == nullptr) return nullptr;
    }
    return computation.Add(Opcode::kTuple, shape, elements);
  }
  if (!shape.IsArray() || shape.IsDynamic()) return nullptr;
  hlo::Literal literal(Shape::Scalar(shape.element_type));
  literal.SetDouble(0, value);
  Instruction* scalar =
      computation.Add(Opcode::kConstant, Shape::Scalar(shape.element_type), {},
                      hlo::ConstantAttributes{std::make_shared<const hlo::Literal>(std::move(literal)), false});
  if (shape.IsScalar()) return scalar;
  return computation.Add(Opcode::kBroadcast, shape, {scalar}, hlo::DimensionsAttributes{});
}

bool ReplaceByInput(Instruction& instruction, bool constant) {
  hlo::Computation& computation = *instruction.parent();
  if (instruction.opcode() == Opcode::kParameter && !constant) return false;
  Instruction* replacement = nullptr;
  if (!constant && &computation == computation.parent()->entry()) {
    if (!instruction.shape().IsArray() && !instruction.shape().IsTuple()) return false;
    int64_t next = 0;
    for (const Instruction* other : computation.Instructions()) next += other->opcode() == Opcode::kParameter;
    replacement = computation.Add(Opcode::kParameter, instruction.shape(), {}, hlo::ParameterAttributes{next},
                                  StrCat("from_", instruction.name()));
  } else {
    replacement = MakeConstant(computation, instruction.shape(), 1);
  }
  if (replacement == nullptr) return false;
  instruction.ReplaceAllUsesWith(replacement);
  return true;
}

void DropUnusedParameters(hlo::Module& module) {
  hlo::Computation& entry = *module.entry();
  int64_t number = 0;
  bool removed = false;
  for (Instruction* parameter : entry.Parameters()) {
    if (parameter == nullptr) return;
    if (parameter->user_count() == 0 && !parameter->IsRoot() && !parameter->HasControlEdges()) {
      entry.Remove(parameter);
      removed = true;
    } else {
      parameter->set_attributes(hlo::ParameterAttributes{number++});
    }
  }
  if (removed) module.raw_attributes().clear();
}

ReduceSearch::ReduceSearch(const hlo::Module& module, const ReduceOptions& options)
    : best_(module.Clone()), options_(options) {}

bool ReduceSearch::Try(const Edit& edit) {
  if (stopped_) return false;
  std::unique_ptr<hlo::Module> candidate = best_->Clone();
  if (!edit(*candidate)) return false;
  const absl::StatusOr<bool> cleaned = hlo::EliminateDeadCode(*candidate);
  if (!cleaned.ok()) return false;
  DropUnusedParameters(*candidate);
  if (hlo::FindProblem(*candidate) || !(SizeOf(*candidate) < SizeOf(*best_))) return false;
  ++progress_.tried;
  const bool improved = options_.fails(*candidate);
  if (improved) {
    best_ = candidate->Clone();  // in the order that its own clones have
    ++progress_.kept;
  }
  progress_.instructions = best_->instruction_count();
  if (options_.progress && !options_.progress(progress_, *best_, improved)) stopped_ = true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (progress_.tried >= options_.max_tries || seconds > options_.max_seconds) stopped_ = true;
  return improved;
}

std::unique_ptr<hlo::Module> Reduce(const hlo::Module& module, const ReduceOptions& options) {
  ReduceSearch search(module, options);
  struct Step {
    bool (*run)(ReduceSearch&);
    std::string_view why;
  };
  static constexpr Step kSteps[] = {
      {ReduceRoots, "one cut near the root removes most"},
      {ReduceInstructions, "large pieces before small ones"},
      {ReduceControlFlow, "bodies become visible to the steps above"},
      {ReduceTuples, "state that loops and calls carry for nothing"},
      {ReduceSizes, "small arrays, for who reads the result"},
      {ReduceAttributes, "what is left says what matters"},
  };
  for (bool changed = true; changed && !search.Stopped();) {
    changed = false;
    for (const Step& step : kSteps) changed |= step.run(search);
  }
  return search.TakeBest();
}

}  // namespace smelt::fuzz

// Asynchronous operations under the name of what they run: `dot-start`, `dot-update`, `dot-done`.
//
// They are the short spelling of async-start, async-update and async-done that call a computation with one dot in it.
// We make that computation; its parameters appear as operands are bound, which may be as late as the -done, and its
// root when the operation is complete.
#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "hlo/text/module_parser.h"

namespace smelt::hlo::text {
namespace {

bool IsAsyncShape(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes.size() >= 2 && shape.tuple_shapes[0].IsTuple();
}

bool IsUnbound(const Shape& shape) { return shape.IsTuple() && shape.tuple_shapes.empty(); }

}  // namespace

// All parts of a chain run in the thread that its beginning names.
bool ModuleParser::CheckThread(const Instruction& before, const std::vector<RawAttribute>& attributes,
                               const char* opcode_at) {
  const Instruction* start = &before;
  while (start->opcode() == Opcode::kAsyncUpdate && start->operand_count() > 0) start = start->operand(0);
  if (start->opcode() != Opcode::kAsyncStart) return true;
  const auto thread = [](const std::vector<RawAttribute>& of) -> std::string_view {
    for (const RawAttribute& attribute : of) {
      if (attribute.name == "async_execution_thread") return attribute.value;
    }
    return {};
  };
  const std::string_view named = thread(attributes);
  const std::string_view first = thread(start->raw_attributes());
  const std::string_view expected = first.empty() ? "\"main\"" : first;
  return named.empty() || named == expected ||
         scanner_.FailAt(opcode_at, StrCat("async_execution_thread=", expected, ", as `", start->name(), "` has"),
                         named);
}

void ModuleParser::BindOperand(AsyncChain& chain, const Shape& shape) {
  const int64_t number = chain.computation->instruction_count();
  Instruction* parameter =
      chain.computation->Add(Opcode::kParameter, shape, {}, ParameterAttributes{number}, "async_param");
  SetPosition(parameter->id(), chain.at);
}

void ModuleParser::CloseAsyncChain(AsyncChain& chain) {
  if (std::exchange(chain.closed, true)) return;
  InstructionDraft& wrapped = chain.wrapped;
  // An operation that never got all its operands can be carried, but it is not what its name says.
  const int arity = GetOpcodeInfo(wrapped.opcode).arity;
  if (arity != kVariadic && arity != chain.computation->instruction_count()) {
    wrapped.attributes = CustomCallAttributes{StrCat("incomplete ", OpcodeName(wrapped.opcode)), false};
    wrapped.opcode = Opcode::kCustomCall;
  }
  Instruction* root = chain.computation->Add(wrapped.opcode, chain.result, chain.computation->Instructions(),
                                             std::move(wrapped.attributes), "", std::move(wrapped.called));
  SetPosition(root->id(), chain.at);
  root->raw_attributes() = std::move(wrapped.raw);
  chain.computation->set_root(root);
}

void ModuleParser::CloseAsyncChains(Scope& scope) {
  for (AsyncChain& chain : scope.chains) CloseAsyncChain(chain);
}

bool ModuleParser::ReadAsync(const char* start, const char* opcode_at, std::string_view name, const Shape* shape,
                             AsyncPart part, InstructionDraft& wrapped, Instruction** made) {
  // The thread belongs to the asynchronous instruction, the other attributes to what it runs.
  std::vector<RawAttribute> own;
  const auto thread = std::find_if(wrapped.raw.begin(), wrapped.raw.end(),
                                   [](const RawAttribute& raw) { return raw.name == "async_execution_thread"; });
  if (thread != wrapped.raw.end()) {
    own.push_back(std::move(*thread));
    wrapped.raw.erase(thread);
  }
  if (part != AsyncPart::kStart && !operands_.empty() && !CheckThread(*operands_[0], own, opcode_at)) return false;
  const std::vector<Instruction*> predecessors = std::move(wrapped.control_predecessors);
  if (part != AsyncPart::kDone && (shape == nullptr || !IsAsyncShape(*shape))) {
    return scanner_.FailAt(opcode_at, "the shape ((operand shapes), result shape, ...) before the opcode",
                           shape == nullptr ? "none" : shape->ToString());
  }
  const auto found =
      part == AsyncPart::kStart || operands_.empty() ? scope_->chain_of.end() : scope_->chain_of.find(operands_[0]);
  size_t index = scope_->chains.size();
  size_t first_bound = part == AsyncPart::kStart ? 0 : 1;
  if (found != scope_->chain_of.end()) {
    index = found->second;
    const Opcode running = scope_->chains[index].wrapped.opcode;
    if (running != wrapped.opcode) {
      return scanner_.FailAt(opcode_at, StrCat("the continuation of ", OpcodeName(running)),
                             OpcodeName(wrapped.opcode));
    }
  } else {
    if (part != AsyncPart::kStart && (operands_.empty() || !IsAsyncShape(operands_[0]->shape()))) {
      return scanner_.FailAt(opcode_at, "an asynchronous operation as the first operand",
                             operands_.empty() ? "none" : StrCat("`", operands_[0]->name(), "`"));
    }
    Computation* computation = module_->AddComputation("async_computation");
    SetPosition(computation->id(), start);
    if (!own.empty()) computation->raw_attributes().push_back({"execution_thread", own[0].value});
    const Opcode opcode = wrapped.opcode;
    scope_->chains.push_back({std::move(wrapped), computation, {}, start, false});
    scope_->chains.back().wrapped.opcode = opcode;
    if (part != AsyncPart::kStart) {
      // A chain that began elsewhere, for example before a loop: the shape tells what was bound there.
      for (const Shape& bound : operands_[0]->shape().tuple_shapes[0].tuple_shapes)
        BindOperand(scope_->chains.back(), bound);
      scope_->chains.back().result = operands_[0]->shape().tuple_shapes[1];
    }
  }
  AsyncChain& chain = scope_->chains[index];
  if (chain.closed)
    return scanner_.FailAt(opcode_at, "an asynchronous operation that is not done",
                           StrCat("`", operands_[0]->name(), "`"));
  for (size_t i = first_bound; i < operands_.size(); ++i) BindOperand(chain, operands_[i]->shape());
  if (part != AsyncPart::kDone) {
    if (!IsUnbound(shape->tuple_shapes[1]) || IsUnbound(chain.result)) chain.result = shape->tuple_shapes[1];
  } else if (shape != nullptr) {
    chain.result = *shape;
  } else if (IsUnbound(chain.result)) {
    return scanner_.FailAt(opcode_at, "the shape of the result before the opcode", "none");
  }
  const Opcode opcode = part == AsyncPart::kStart    ? Opcode::kAsyncStart
                        : part == AsyncPart::kUpdate ? Opcode::kAsyncUpdate
                                                     : Opcode::kAsyncDone;
  *made = Make(start, opcode, Shape(part == AsyncPart::kDone ? chain.result : *shape), operands_, {}, name,
               {chain.computation});
  (*made)->raw_attributes() = std::move(own);
  for (Instruction* predecessor : predecessors) (*made)->AddControlPredecessor(predecessor);
  scope_->chain_of[*made] = index;
  if (part == AsyncPart::kDone) CloseAsyncChain(chain);
  return true;
}

}  // namespace smelt::hlo::text

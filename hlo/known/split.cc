#include "hlo/known/split.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/known/known_parameters.h"
#include "hlo/passes/dead_code.h"

namespace smelt::hlo {
namespace {

// Which known values `main` is given: those that what is not known reads, or what they are cheaply made of.
class Frontier {
 public:
  explicit Frontier(const Computation& entry) : known_(entry) {
    for (const Instruction* x : entry.PostOrder()) {
      if (known_.Contains(*x)) continue;
      for (const Instruction* operand : x->operands()) Need(operand);
    }
    Need(entry.root());
    for (const Instruction* x : entry.PostOrder()) {
      if (given_.contains(x)) order_.push_back(x);
    }
  }

  // Operands before users.
  const std::vector<const Instruction*>& values() const { return order_; }

 private:
  void Need(const Instruction* value) {
    std::vector<const Instruction*> open = {value};
    while (!open.empty()) {
      const Instruction* x = open.back();
      open.pop_back();
      // What follows from small constants alone stays as it is.
      if (!known_.HasRoot(*x) || x->opcode() == Opcode::kConstant || !seen_.insert(x).second) continue;
      const bool is_array = x->shape().IsArray();
      if (x->opcode() == Opcode::kParameter ||
          (is_array && x->opcode() != Opcode::kBroadcast && known_.IsWorthKeeping(*x))) {
        given_.insert(x);
      } else {
        for (const Instruction* operand : x->operands()) open.push_back(operand);
      }
    }
  }

  const KnownPart known_;
  absl::flat_hash_set<const Instruction*> seen_, given_;
  std::vector<const Instruction*> order_;
};

// What names parameters of the module before.
void DropParameterAttributes(Module& module) {
  constexpr std::string_view kNames[] = {"entry_computation_layout", "input_output_alias", "buffer_donor",
                                         "is_scheduled"};
  std::erase_if(module.raw_attributes(), [&](const RawAttribute& attribute) {
    return std::find(std::begin(kNames), std::end(kNames), attribute.name) != std::end(kNames);
  });
}

absl::Status RemoveDead(Module& module) { return EliminateDeadCode(module).status(); }

// Removes the parameters whose numbers are not in `kept`, and numbers those as they stand there.
void KeepParameters(Computation& entry, const std::vector<Instruction*>& kept) {
  for (Instruction* parameter : entry.Instructions()) {
    if (parameter->opcode() == Opcode::kParameter && std::find(kept.begin(), kept.end(), parameter) == kept.end())
      entry.Remove(parameter);
  }
  for (size_t i = 0; i < kept.size(); ++i)
    kept[i]->mutable_attributes<ParameterAttributes>().number = static_cast<int64_t>(i);
}

absl::Status MakeMain(const Module& module, const std::vector<const Instruction*>& values, KnownSplit* split) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  split->main = module.Clone(nullptr, &copies);
  Computation& entry = *split->main->entry();
  DropParameterAttributes(*split->main);
  std::vector<Instruction*> parameters;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (IsKnownParameter(*parameter)) continue;
    split->sources.push_back({false, parameter->attributes<ParameterAttributes>().number});
    parameters.push_back(copies.at(parameter));
  }
  std::set<int64_t> marked;
  const auto before = static_cast<int64_t>(module.entry()->Parameters().size());
  int64_t computed = 0;
  for (const Instruction* value : values) {
    Instruction* old = copies.at(value);
    marked.insert(static_cast<int64_t>(parameters.size()));
    if (value->opcode() == Opcode::kParameter) {
      split->sources.push_back({false, value->attributes<ParameterAttributes>().number});
      parameters.push_back(old);
      continue;
    }
    split->sources.push_back({true, computed});
    // A number of its own until all are known.
    Instruction* given = entry.Add(Opcode::kParameter, value->shape(), {}, ParameterAttributes{before + computed},
                                   StrCat("known_", value->name()));
    old->ReplaceAllUsesWith(given);
    parameters.push_back(given);
    ++computed;
  }
  SMELT_RETURN_IF_ERROR(RemoveDead(*split->main));
  KeepParameters(entry, parameters);
  MarkKnownParameters(*split->main, marked);
  return absl::OkStatus();
}

absl::Status MakeKnown(const Module& module, const std::vector<const Instruction*>& values, KnownSplit* split) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  std::unique_ptr<Module> known = module.Clone(nullptr, &copies);
  Computation& entry = *known->entry();
  DropParameterAttributes(*known);
  std::vector<Instruction*> elements;
  std::vector<Shape> shapes;
  for (const Instruction* value : values) {
    if (value->opcode() == Opcode::kParameter) continue;
    elements.push_back(copies.at(value));
    shapes.push_back(value->shape());
  }
  if (elements.empty()) return absl::OkStatus();
  entry.set_root(entry.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), elements));
  SMELT_RETURN_IF_ERROR(RemoveDead(*known));
  std::vector<Instruction*> parameters;
  for (Instruction* parameter : entry.Parameters()) {
    if (parameter->user_count() == 0) continue;
    split->known_parameters.push_back(parameter->attributes<ParameterAttributes>().number);
    parameters.push_back(parameter);
  }
  KeepParameters(entry, parameters);
  split->known = std::move(known);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KnownSplit> SplitKnownPart(const Module& module) {
  if (module.entry() == nullptr || module.entry()->root() == nullptr)
    return absl::InvalidArgumentError("the module has no entry computation");
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) return absl::InvalidArgumentError("the entry computation misses a parameter number");
  }
  KnownSplit split;
  const Frontier frontier(*module.entry());
  SMELT_RETURN_IF_ERROR(MakeMain(module, frontier.values(), &split));
  SMELT_RETURN_IF_ERROR(MakeKnown(module, frontier.values(), &split));
  return split;
}

absl::StatusOr<std::vector<Literal>> KnownSplit::MainInputs(std::vector<Literal> inputs,
                                                            const EvaluateOptions& options) const {
  std::vector<Literal> computed;
  if (known != nullptr) {
    std::vector<const Literal*> arguments;
    for (const int64_t number : known_parameters) arguments.push_back(&inputs[number]);
    SMELT_ASSIGN_OR_RETURN(Literal values, Evaluate(*known, arguments, options));
    computed = std::move(values.elements());
  }
  std::vector<Literal> result;
  for (const Source& source : sources)
    result.push_back(std::move(source.computed ? computed[source.number] : inputs[source.number]));
  return result;
}

}  // namespace smelt::hlo

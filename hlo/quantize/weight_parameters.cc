#include "hlo/quantize/weight_parameters.h"

#include <algorithm>
#include <cctype>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/golden/safetensors.h"

namespace smelt::hlo::quantize {
namespace {

// Trees of weights by their first word.
constexpr std::string_view kTrees[] = {"params", "variables", "weights", "batch_stats", "state"};

bool IsFloatArray(const Instruction& x) { return x.shape().IsArray() && IsFloat(x.shape().element_type); }

// Words of letters and digits with one underscore between; the number that makes a name unique (`.1`) goes.
std::string PlainName(std::string_view name) {
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos && dot + 1 < name.size() &&
                                          std::all_of(name.begin() + static_cast<int64_t>(dot) + 1, name.end(),
                                                      [](unsigned char c) { return std::isdigit(c) != 0; })) {
    name = name.substr(0, dot);
  }
  std::string plain;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      plain += c;
    } else if (!plain.empty() && plain.back() != '_') {
      plain += '_';
    }
  }
  while (!plain.empty() && plain.back() == '_') plain.pop_back();
  return plain;
}

bool NamesWeight(std::string_view name) {
  const std::string plain = PlainName(name);
  return std::any_of(std::begin(kTrees), std::end(kTrees),
                     [&](std::string_view tree) { return plain == tree || plain.starts_with(StrCat(tree, "_")); });
}

// The parameter that x is a rearrangement of; null: there is none.
const Instruction* ParameterUnder(const Instruction* x) {
  while (true) {
    switch (x->opcode()) {
      case Opcode::kParameter:
        return x;
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kBitcast:
      case Opcode::kConvert:
      case Opcode::kReverse:
      case Opcode::kBroadcast:
        x = x->operand(0);
        continue;
      default:
        return nullptr;
    }
  }
}

// One dimension has all the elements: a bias, or a normalisation's scale in the shape of what it multiplies. An input
// of one row is no vector where it is a matrix: [1, 784] may be an image.
bool IsVector(const Instruction& parameter) {
  const std::vector<int64_t>& dimensions = parameter.shape().dimensions;
  return dimensions.size() == 1 || (dimensions.size() > 2 && std::count_if(dimensions.begin(), dimensions.end(),
                                                                           [](int64_t d) { return d > 1; }) <= 1);
}

bool OnlyGathered(const Instruction& parameter) {
  return parameter.user_count() > 0 &&
         std::all_of(parameter.users().begin(), parameter.users().end(), [&](const Instruction* user) {
           return user->opcode() == Opcode::kGather && user->operand(0) == &parameter && user->operand(1) != &parameter;
         });
}

std::set<int64_t> ByUse(const Module& module) {
  std::set<int64_t> numbers;
  auto add = [&](const Instruction* parameter) {
    if (parameter != nullptr && parameter->parent() == module.entry() && IsFloatArray(*parameter))
      numbers.insert(parameter->attributes<ParameterAttributes>().number);
  };
  for (const Instruction* x : module.entry()->PostOrder()) {
    if (x->opcode() == Opcode::kConvolution || x->opcode() == Opcode::kDot) add(ParameterUnder(x->operand(1)));
    if (x->opcode() == Opcode::kParameter && IsFloatArray(*x) && (IsVector(*x) || OnlyGathered(*x))) add(x);
  }
  return numbers;
}

// Numbers of the array leaves that each parameter has; the first leaf's, by parameter.
std::vector<int64_t> FirstLeaves(const Module& module) {
  std::vector<int64_t> first;
  int64_t leaf = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    first.push_back(leaf);
    std::vector<const Shape*> leaves;
    parameter->shape().AppendLeaves(&leaves);
    leaf += std::count_if(leaves.begin(), leaves.end(), [](const Shape* shape) { return shape->IsArray(); });
  }
  return first;
}

}  // namespace

absl::StatusOr<WeightParameters> FindWeightParameters(const Module& module, const std::vector<std::string>& inputs) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  WeightParameters found;
  if (!inputs.empty()) {
    std::set<int64_t> given;
    for (const std::string& word : inputs) {
      const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const Instruction* p) {
        return p->name() == word || PlainName(p->name()) == PlainName(word) ||
               StrCat(p->attributes<ParameterAttributes>().number) == word;
      });
      if (parameter == parameters.end())
        return absl::InvalidArgumentError(
            StrCat("module ", module.name(), " has no parameter `", word, "`; there are ", parameters.size(), ", `",
                   parameters.empty() ? "" : parameters[0]->name(), "` the first of them"));
      given.insert((*parameter)->attributes<ParameterAttributes>().number);
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (IsFloatArray(*parameters[p]) && !given.contains(static_cast<int64_t>(p)))
        found.numbers.insert(static_cast<int64_t>(p));
    }
    found.how = "all but the inputs that were named";
    return found;
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (IsFloatArray(*parameters[p]) && NamesWeight(parameters[p]->name()))
      found.numbers.insert(static_cast<int64_t>(p));
  }
  found.how = "told by their names";
  if (found.numbers.empty()) {
    found.numbers = ByUse(module);
    found.how = "told by how they are used";
  }
  if (!parameters.empty() && found.numbers.size() == parameters.size())
    return absl::InvalidArgumentError(
        StrCat("every parameter of module ", module.name(), " looks like a weight: name its inputs (--activations)"));
  return found;
}

absl::StatusOr<Weights> ReadWeights(const std::string& path, const Module& module) {
  SMELT_ASSIGN_OR_RETURN(const SafetensorsFile file, ReadSafetensors(path));
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  const std::vector<int64_t> first_leaves = FirstLeaves(module);
  Weights weights;
  for (const NamedTensor& tensor : file.tensors) {
    const Instruction* parameter = nullptr;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (tensor.name == StrCat("in.", first_leaves[p]) || tensor.name == parameters[p]->name() ||
          PlainName(tensor.name) == PlainName(parameters[p]->name()))
        parameter = parameters[p];
    }
    if (parameter == nullptr || !parameter->shape().IsArray())
      return absl::InvalidArgumentError(StrCat(path, ": tensor `", tensor.name,
                                               "` fits no parameter that is an array; tensors are named in.K, or as "
                                               "the parameter is"));
    absl::StatusOr<Literal> literal = FromStorable(tensor.literal, parameter->shape());
    if (!literal.ok())
      return absl::InvalidArgumentError(StrCat(path, ": tensor `", tensor.name, "` for parameter `", parameter->name(),
                                               "`: ", std::string(literal.status().message())));
    weights[parameter->attributes<ParameterAttributes>().number] = *std::move(literal);
  }
  if (weights.empty()) return absl::InvalidArgumentError(StrCat(path, ": holds no tensor"));
  return weights;
}

}  // namespace smelt::hlo::quantize

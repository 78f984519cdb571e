#include "hlo/known/known_parameters.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/str_cat.h"
#include "hlo/literal.h"

namespace smelt::hlo {
namespace {

constexpr std::string_view kAttribute = "frontend_attributes";
constexpr std::string_view kAllBut = "all-but:";
// Constants of more elements are roots, as parameters are; smaller ones are folded where they meet others.
constexpr int64_t kSmallConstant = 1 << 16;
// What is kept may be so much larger than what it follows from, and so many bytes more.
constexpr double kGrowth = 1.5;
constexpr double kSlack = 4096;

std::string Mark() { return StrCat(kKnownMark, "=\"true\""); }

void Unmark(std::vector<RawAttribute>* attributes) {
  std::erase_if(*attributes, [](RawAttribute& attribute) {
    if (attribute.name != kAttribute) return false;
    std::string& value = attribute.value;
    for (const std::string& mark : {StrCat(",", Mark()), StrCat(Mark(), ","), Mark()}) {
      const size_t at = value.find(mark);
      if (at != std::string::npos) value.erase(at, mark.size());
    }
    return value == "{}";
  });
}

void AddMark(std::vector<RawAttribute>* attributes) {
  for (RawAttribute& attribute : *attributes) {
    if (attribute.name != kAttribute || attribute.value.size() < 2) continue;
    attribute.value.insert(1, StrCat(Mark(), attribute.value == "{}" ? "" : ","));
    return;
  }
  attributes->push_back({std::string(kAttribute), StrCat("{", Mark(), "}")});
}

// Pure operations that the evaluator has, from values to a value.
bool IsComputable(const Instruction& x) {
  if (x.HasSideEffect() || x.HasControlEdges()) return false;
  if (!x.shape().IsTuple() && (!x.shape().IsArray() || x.shape().IsDynamic())) return false;
  switch (x.opcode()) {
    case Opcode::kStochasticConvert:
    case Opcode::kDynamicReshape:
      return false;
    case Opcode::kCholesky:
    case Opcode::kFft:
    case Opcode::kMap:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kTopK:
    case Opcode::kTriangularSolve:
    case Opcode::kIota:
      return true;
    case Opcode::kBitcast:
      return x.shape().HasDefaultLayout() && x.operand(0)->shape().HasDefaultLayout();
    default:
      break;
  }
  const OpcodeCategory category = GetOpcodeInfo(x.opcode()).category;
  return category <= OpcodeCategory::kDataMovement;
}

bool IsRoot(const Instruction& x) {
  return x.opcode() == Opcode::kConstant ? x.shape().IsArray() && x.shape().ElementCount() > kSmallConstant
                                         : x.opcode() == Opcode::kParameter;
}

// Without the number that makes a name unique: `x` of `x.1`.
std::string_view Stem(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size() ||
      name.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) {
    return name;
  }
  return name.substr(0, dot);
}

// The parameter of this name or number, or the only one of this stem.
const Instruction* FindParameter(const Module& module, std::string_view word) {
  const Instruction* found = nullptr;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) continue;
    if (parameter->name() == word || StrCat(parameter->attributes<ParameterAttributes>().number) == word)
      return parameter;
  }
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr || Stem(parameter->name()) != word) continue;
    if (found != nullptr) return nullptr;
    found = parameter;
  }
  return found;
}

}  // namespace

void MarkKnownParameters(Module& module, const std::set<int64_t>& numbers) {
  for (Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) continue;
    Unmark(&parameter->raw_attributes());
    if (numbers.contains(parameter->attributes<ParameterAttributes>().number)) AddMark(&parameter->raw_attributes());
  }
}

bool IsKnownParameter(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kParameter &&
         std::any_of(instruction.raw_attributes().begin(), instruction.raw_attributes().end(),
                     [](const RawAttribute& attribute) {
                       return attribute.name == kAttribute && attribute.value.find(Mark()) != std::string::npos;
                     });
}

std::set<int64_t> KnownParameters(const Module& module) {
  std::set<int64_t> numbers;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter != nullptr && IsKnownParameter(*parameter))
      numbers.insert(parameter->attributes<ParameterAttributes>().number);
  }
  return numbers;
}

absl::StatusOr<std::set<int64_t>> ReadKnownParameters(const Module& module, const std::vector<std::string>& words) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  const bool all_but = !words.empty() && words[0].starts_with(kAllBut);
  std::set<int64_t> named;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = i == 0 && all_but ? words[0].substr(kAllBut.size()) : words[i];
    const Instruction* parameter = FindParameter(module, word);
    if (parameter == nullptr) {
      return absl::InvalidArgumentError(
          StrCat("module ", module.name(), " has no parameter `", word, "`; it has ", parameters.size(),
                 parameters.empty() ? "" : StrCat(", `", parameters[0]->name(), "` (number 0) the first of them")));
    }
    named.insert(parameter->attributes<ParameterAttributes>().number);
  }
  if (!all_but) return named;
  std::set<int64_t> others;
  for (int64_t number = 0; number < static_cast<int64_t>(parameters.size()); ++number) {
    if (!named.contains(number)) others.insert(number);
  }
  if (others.empty())
    return absl::InvalidArgumentError(
        StrCat("all parameters of module ", module.name(), " but ", absl::StrJoin(words, ","), " are none"));
  return others;
}

KnownPart::KnownPart(const Computation& computation) {
  for (const Instruction* x : computation.PostOrder()) {
    const bool is_value = x->opcode() == Opcode::kConstant || IsKnownParameter(*x);
    if (!is_value && !(IsComputable(*x) && std::all_of(x->operands().begin(), x->operands().end(),
                                                       [&](const Instruction* y) { return known_.contains(y); }))) {
      continue;
    }
    known_.insert(x);
    if ((is_value && IsRoot(*x)) || std::any_of(x->operands().begin(), x->operands().end(),
                                                [&](const Instruction* y) { return rooted_.contains(y); })) {
      rooted_.insert(x);
    }
  }
}

bool KnownPart::IsWorthKeeping(const Instruction& instruction) const {
  absl::flat_hash_set<const Instruction*> seen = {&instruction};
  std::vector<const Instruction*> open = {&instruction};
  double bytes = 0;
  while (!open.empty()) {
    const Instruction* x = open.back();
    open.pop_back();
    if (x->operand_count() == 0 && rooted_.contains(x)) bytes += static_cast<double>(x->shape().ByteSize());
    for (const Instruction* operand : x->operands()) {
      if (seen.insert(operand).second) open.push_back(operand);
    }
  }
  return static_cast<double>(instruction.shape().ByteSize()) <= kGrowth * bytes + kSlack;
}

}  // namespace smelt::hlo

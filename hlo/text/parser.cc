#include "hlo/text/parser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "hlo/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/literal.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/text/attribute_codecs.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/scanner.h"
#include "hlo/text/shape_text.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo {
namespace text {
namespace {

class ModuleParser : public AttributeHost {
 public:
  ModuleParser(std::string_view text, const ParseOptions& options) : scanner_(text, options.file_name), options_(options) {}

  absl::StatusOr<std::unique_ptr<Module>> Parse() {
    if (!ReadModule()) return scanner_.error();
    if (options_.verify) {
      if (const std::optional<Problem> problem = FindProblem(*module_)) return Locate(*problem);
    }
    return std::move(module_);
  }

  bool ReadComputation(std::string_view role, Computation** computation) override;
  bool ReadInstructionName(Instruction** instruction) override;

 private:
  // Names are looked up in the computation that is being read only.
  struct Scope {
    Computation* computation = nullptr;
    bool unknown_operands_are_parameters = false;
    int64_t next_parameter = 0;
    Instruction* last = nullptr;
    absl::flat_hash_map<std::string_view, Instruction*> names;
    // Elements that compact tuple access (`%x#0`) has already taken out.
    absl::flat_hash_map<std::pair<const Instruction*, int64_t>, Instruction*> elements;
  };

  bool ReadModule();
  bool ReadHeader();
  bool ReadTables();
  bool ReadHeaderlessInstruction();
  bool AtComputation();
  bool ReadTopLevelComputation();
  bool ReadSignature(bool* has_result, Shape* result);
  bool ReadBody(Computation* computation, bool unknown_operands_are_parameters);
  bool ReadInstruction();
  // After `name =`: shape, opcode, operands and, unless it is nested in an operand list, attributes.
  bool ReadOperation(const char* start, std::string_view name, bool nested, Instruction** made);
  bool ReadOperands(const char* opcode_at, InstructionDraft& draft, const Shape* shape);
  bool ReadOperand(Instruction** operand);
  bool ReadTupleElements(Instruction** operand);
  bool ReadAttributes(InstructionDraft& draft, const char* opcode_at);
  bool CheckReplication(const Instruction& parameter, const InstructionDraft& draft, const char* opcode_at);
  bool CheckCounts(const InstructionDraft& draft, const char* opcode_at);
  bool ReadOpcode(std::string_view* word, Opcode* opcode);
  Instruction* Make(const char* at, Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                    std::string_view name, std::vector<Computation*> called = {});

  // The problem with its place in the text.
  absl::Status Locate(const Problem& problem) const;

  void SetPosition(int64_t id, const char* at);

  Scanner scanner_;
  const ParseOptions& options_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<std::string_view, Computation*> computations_;
  Scope* scope_ = nullptr;
  ConstantFill constant_fill_;
  std::vector<Instruction*> operands_;  // of the instruction that is being read
  std::string_view instruction_name_;
  int depth_ = 0;
  std::vector<const char*> positions_;  // by id
};

// XLA's grammar holds these to their rules even where nothing is verified.
bool IsCheckedByGrammar(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kConditional:
    case Opcode::kDynamicReshape:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kRecv:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

// Counts a level of nesting while it lives.
struct Nesting {
  explicit Nesting(int* depth) : depth(depth) { ++*depth; }
  ~Nesting() { --*depth; }
  int* depth;
};

bool ModuleParser::ReadModule() {
  scanner_.SkipSpace();
  if (scanner_.AtEnd()) return scanner_.Fail("a module, a computation or an instruction");
  if (scanner_.Try(std::string_view("HloModule"))) {
    if (!ReadHeader()) return false;
  } else if (AtComputation()) {
    const char* start = scanner_.at();
    scanner_.Try(std::string_view("ENTRY"));
    module_ = std::make_unique<Module>(std::string(scanner_.TryName()));
    scanner_.set_at(start);
  } else {
    return ReadHeaderlessInstruction();
  }
  while (!scanner_.AtEnd()) {
    if (!ReadTopLevelComputation()) return false;
  }
  if (module_->Computations().empty()) return scanner_.Fail("a computation");
  if (module_->entry() == nullptr) module_->set_entry(module_->Computations().back());
  return true;
}

// A name, then a `{`, or parentheses and `->`.
bool ModuleParser::AtComputation() {
  const char* start = scanner_.at();
  bool answer = scanner_.Try(std::string_view("ENTRY"));
  if (!answer && !scanner_.TryName().empty()) {
    answer = scanner_.Peek() == '{';
    if (scanner_.Peek() == '(' && CheckAnything(scanner_)) answer = scanner_.Try(std::string_view("->"));
  }
  scanner_.set_at(start);
  return answer;
}

bool ModuleParser::ReadHeader() {
  std::string_view name;
  if (!scanner_.Name(&name, "the name of the module")) return false;
  module_ = std::make_unique<Module>(std::string(name));
  scanner_.Try(':');
  while (scanner_.Try(',')) {
    std::string_view attribute;
    if (!scanner_.Word(&attribute, "an attribute of the module") || !scanner_.Expect('=')) return false;
    scanner_.SkipSpace();
    const char* value = scanner_.at();
    const bool read = attribute == "input_output_alias" ? CheckAliasing(scanner_) : CheckAnything(scanner_);
    if (!read) return false;
    module_->raw_attributes().push_back({std::string(attribute), std::string(scanner_.From(value))});
  }
  return ReadTables();
}

// FileNames, FunctionNames, FileLocations and StackFrames: numbered lines that metadata refers to.
bool ModuleParser::ReadTables() {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  const char* end = start;
  for (;;) {
    const char* name_at = scanner_.at();
    const std::string_view name = scanner_.TryWord();
    if (name != "FileNames" && name != "FunctionNames" && name != "FileLocations" && name != "StackFrames") {
      scanner_.set_at(name_at);
      break;
    }
    int64_t number;
    while (IsA(scanner_.Peek(), kDigitCharacter)) {
      if (!scanner_.Integer(&number)) return false;
      if (scanner_.Peek() == '{' ? !CheckBraces(scanner_) : !CheckString(scanner_)) return false;
    }
    end = scanner_.at();
    scanner_.SkipSpace();
  }
  while (end != start && IsA(end[-1], kSpaceCharacter)) --end;
  module_->tables() = std::string(start, end - start);
  return true;
}

bool ModuleParser::ReadHeaderlessInstruction() {
  const char* start = scanner_.at();
  std::string_view name = scanner_.TryName();
  if (name.empty() || !scanner_.Try('=')) {
    name = {};
    scanner_.set_at(start);
  }
  module_ = std::make_unique<Module>(name.empty() ? "instruction" : std::string(name));
  Scope scope;
  scope.computation = module_->AddComputation("entry");
  scope.unknown_operands_are_parameters = true;
  scope_ = &scope;
  Instruction* root = nullptr;
  if (!ReadOperation(start, name, /*nested=*/false, &root)) return false;
  scope.computation->set_root(root);
  module_->set_entry(scope.computation);
  return scanner_.AtEnd() || scanner_.Fail("the end of the text after a single instruction");
}

bool ModuleParser::ReadTopLevelComputation() {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  const bool is_entry = scanner_.Try(std::string_view("ENTRY"));
  if (is_entry && module_->entry() != nullptr) return scanner_.FailAt(start, "only one ENTRY computation");
  scanner_.SkipSpace();
  const char* name_at = scanner_.at();
  std::string_view name;
  if (!scanner_.Name(&name, "a computation")) return false;
  if (computations_.contains(name)) {
    return scanner_.FailAt(name_at, "a computation name that is not taken", StrCat("`", name, "` again"));
  }
  bool has_result = false;
  Shape result;
  if (!ReadSignature(&has_result, &result)) return false;
  Computation* computation = module_->AddComputation(name);
  SetPosition(computation->id(), name_at);
  if (!ReadBody(computation, false)) return false;
  computations_[name] = computation;
  if (is_entry) module_->set_entry(computation);
  if (has_result && !result.SameAs(computation->root()->shape())) {
    return scanner_.FailAt(name_at, StrCat("a root of the declared shape ", result.ToString()),
                           StrCat(computation->root()->shape().ToString(), ", the shape of root `",
                                        computation->root()->name(), "`"));
  }
  while (scanner_.Try(',')) {
    std::string_view attribute;
    if (!scanner_.Word(&attribute, "an attribute of the computation") || !scanner_.Expect('=')) return false;
    scanner_.SkipSpace();
    const char* value = scanner_.at();
    if (!CheckAnything(scanner_)) return false;
    computation->raw_attributes().push_back({std::string(attribute), std::string(scanner_.From(value))});
  }
  return true;
}

// (x: f32[2], y: s32[]) -> f32[2]
bool ModuleParser::ReadSignature(bool* has_result, Shape* result) {
  if (!scanner_.Try('(')) return true;
  if (!scanner_.Try(')')) {
    do {
      std::string_view name;
      Shape shape;
      if (!scanner_.Name(&name, "the name of a parameter") || !scanner_.Expect(':') || !ParseShape(scanner_, &shape)) {
        return false;
      }
    } while (scanner_.Try(','));
    if (!scanner_.Expect(')')) return false;
  }
  *has_result = true;
  return scanner_.Expect(std::string_view("->")) && ParseShape(scanner_, result);
}

bool ModuleParser::ReadBody(Computation* computation, bool unknown_operands_are_parameters) {
  if (!scanner_.Expect('{')) return false;
  Scope scope;
  scope.computation = computation;
  scope.unknown_operands_are_parameters = unknown_operands_are_parameters;
  Scope* outer = std::exchange(scope_, &scope);
  bool good = true;
  while (good && !scanner_.Try('}')) {
    if (scanner_.AtEnd()) {
      good = scanner_.Fail("an instruction or `}`");
      break;
    }
    good = ReadInstruction();
  }
  scope_ = outer;
  if (!good) return false;
  if (scope.last == nullptr) return scanner_.Fail("an instruction: a computation cannot be empty");
  if (computation->root() == nullptr) computation->set_root(scope.last);
  return true;
}

bool ModuleParser::ReadInstruction() {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  const bool is_root = scanner_.Here() == 'R' && scanner_.Try(std::string_view("ROOT"));
  if (is_root && scope_->computation->root() != nullptr) return scanner_.FailAt(start, "only one ROOT in a computation");
  scanner_.SkipSpace();
  const char* name_at = scanner_.at();
  std::string_view name;
  if (!scanner_.Name(&name, "the name of an instruction") || !scanner_.Expect('=')) return false;
  if (scope_->names.contains(name)) {
    return scanner_.FailAt(name_at, "a name that no instruction of the computation has", StrCat("`", name, "` again"));
  }
  Instruction* instruction;
  if (!ReadOperation(name_at, name, /*nested=*/false, &instruction)) return false;
  scope_->names[name] = instruction;
  scope_->last = instruction;
  if (is_root) scope_->computation->set_root(instruction);
  return true;
}

bool ModuleParser::ReadOpcode(std::string_view* word, Opcode* opcode) {
  scanner_.SkipSpace();
  const char* at = scanner_.at();
  *word = scanner_.TryWord();
  const std::optional<Opcode> found = word->empty() ? std::nullopt : OpcodeFromName(*word);
  if (!found) return scanner_.FailAt(at, word->empty() ? "a shape or an opcode" : "an opcode of HLO");
  *opcode = *found;
  return true;
}

bool ModuleParser::ReadOperation(const char* start, std::string_view name, bool nested, Instruction** made) {
  const Nesting nesting(&depth_);
  if (depth_ > kNestingLimit) return scanner_.Fail(StrCat("at most ", kNestingLimit, " levels of nested instructions"));
  Shape shape;
  const bool has_shape = AtShape(scanner_);
  if (has_shape && !ParseShape(scanner_, &shape)) return false;
  InstructionDraft draft;
  std::string_view word;
  scanner_.SkipSpace();
  const char* opcode_at = scanner_.at();
  if (!ReadOpcode(&word, &draft.opcode)) return false;
  draft.attributes = EmptyAttributes(draft.opcode);
  const std::string_view outer_name = std::exchange(instruction_name_, name.empty() ? word : name);
  std::vector<Instruction*> outer_operands = std::exchange(operands_, {});
  if (!ReadOperands(opcode_at, draft, has_shape ? &shape : nullptr)) return false;
  if (!nested && !ReadAttributes(draft, opcode_at)) return false;
  if (!has_shape) {
    absl::StatusOr<Shape> inferred = InferShape(draft.opcode, operands_, draft.attributes, draft.called);
    if (!inferred.ok()) {
      scanner_.Complain(opcode_at, inferred.status());
      return false;
    }
    shape = *std::move(inferred);
  }
  Instruction* instruction =
      Make(start, draft.opcode, std::move(shape), std::move(operands_), std::move(draft.attributes), name, std::move(draft.called));
  operands_ = std::move(outer_operands);
  instruction_name_ = outer_name;
  if (instruction->opcode() == Opcode::kParameter && !CheckReplication(*instruction, draft, opcode_at)) return false;
  instruction->raw_attributes() = std::move(draft.raw);
  for (Instruction* predecessor : draft.control_predecessors) instruction->AddControlPredecessor(predecessor);
  *made = instruction;
  if (!IsCheckedByGrammar(instruction->opcode())) return true;
  const absl::Status status = CheckShape(*instruction);
  return status.ok() || scanner_.Complain(opcode_at, status);
}

Instruction* ModuleParser::Make(const char* at, Opcode opcode, Shape shape, std::vector<Instruction*> operands,
                                Attributes attributes, std::string_view name, std::vector<Computation*> called) {
  Instruction* instruction = scope_->computation->Add(opcode, std::move(shape), std::move(operands), std::move(attributes),
                                                      name, std::move(called));
  SetPosition(instruction->id(), at);
  return instruction;
}

void ModuleParser::SetPosition(int64_t id, const char* at) {
  if (static_cast<int64_t>(positions_.size()) <= id) positions_.resize(id + 1);
  positions_[id] = at;
}

absl::Status ModuleParser::Locate(const Problem& problem) const {
  const int64_t id = problem.instruction != nullptr   ? problem.instruction->id()
                     : problem.computation != nullptr ? problem.computation->id()
                                                      : -1;
  const bool known = id >= 0 && id < static_cast<int64_t>(positions_.size()) && positions_[id] != nullptr;
  return scanner_.ErrorAt(known ? positions_[id] : scanner_.at(), problem.message);
}

bool ModuleParser::ReadOperands(const char* opcode_at, InstructionDraft& draft, const Shape* shape) {
  if (!scanner_.Expect('(')) return false;
  if (draft.opcode == Opcode::kParameter) {
    scanner_.SkipSpace();
    const char* at = scanner_.at();
    int64_t& number = std::get<ParameterAttributes>(draft.attributes).number;
    if (!scanner_.Integer(&number, "the number of the parameter")) return false;
    if (number < 0) return scanner_.FailAt(at, "a parameter number of 0 or more");
    if (number >= (int64_t{1} << 31)) return scanner_.FailAt(at, "a parameter number below 2^31");
    return scanner_.Expect(')');
  }
  if (draft.opcode == Opcode::kConstant) {
    if (shape == nullptr) return scanner_.FailAt(opcode_at, "the shape of the constant");
    Literal literal;
    ConstantAttributes& attributes = std::get<ConstantAttributes>(draft.attributes);
    if (!ParseLiteral(scanner_, *shape, constant_fill_, &literal, &attributes.elided)) return false;
    attributes.literal = std::make_shared<const Literal>(std::move(literal));
    return scanner_.Expect(')');
  }
  if (!scanner_.Try(')')) {
    do {
      Instruction* operand;
      if (!ReadOperand(&operand)) return false;
      operands_.push_back(operand);
    } while (scanner_.Try(','));
    if (!scanner_.Expect(')')) return false;
  }
  const int arity = GetOpcodeInfo(draft.opcode).arity;
  if (arity != kVariadic && static_cast<int>(operands_.size()) != arity) {
    return scanner_.FailAt(opcode_at, StrCat(arity, arity == 1 ? " operand" : " operands", " of ", OpcodeName(draft.opcode)),
                           StrCat(operands_.size()));
  }
  return true;
}

bool ModuleParser::ReadOperand(Instruction** operand) {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  Shape shape;
  bool has_shape = false;
  if (scanner_.Here() != '%' && AtShape(scanner_)) {
    has_shape = true;
    if (!ParseShape(scanner_, &shape)) return false;
    scanner_.SkipSpace();
  }
  const char* name_at = scanner_.at();
  const std::string_view name = scanner_.TryName();
  if (!name.empty() && scanner_.Peek() == '(') {
    // An instruction in place of a name.
    scanner_.set_at(start);
    return ReadOperation(start, {}, /*nested=*/true, operand);
  }
  const auto found = scope_->names.find(name);
  if (found == scope_->names.end()) {
    if (!scope_->unknown_operands_are_parameters || (name.empty() && !has_shape)) {
      return scanner_.FailAt(name_at, "an instruction that is defined above in this computation");
    }
    if (!has_shape) return scanner_.FailAt(start, "the shape of an operand that is not defined above");
    *operand = Make(start, Opcode::kParameter, shape, {}, ParameterAttributes{scope_->next_parameter++}, name);
    if (!name.empty()) scope_->names[name] = *operand;
    return true;
  }
  *operand = found->second;
  if (scanner_.Here() == '#' && !ReadTupleElements(operand)) return false;
  if (has_shape && !shape.SameAs((*operand)->shape())) {
    return scanner_.FailAt(start, StrCat((*operand)->shape().ToString(), ", the shape of `", name, "`"), shape.ToString());
  }
  return true;
}

// #1#0 behind a name: elements of a tuple, taken out once for all their uses.
bool ModuleParser::ReadTupleElements(Instruction** operand) {
  while (scanner_.Here() == '#') {
    const char* at = scanner_.at();
    scanner_.set_at(at + 1);
    int64_t index;
    if (!scanner_.Integer(&index, "the index of a tuple element")) return false;
    const Shape& tuple = (*operand)->shape();
    if (!tuple.IsTuple()) {
      return scanner_.FailAt(at, "a tuple before `#`", StrCat("`", (*operand)->name(), "` of shape ", tuple.ToString()));
    }
    if (index < 0 || index >= static_cast<int64_t>(tuple.tuple_shapes.size())) {
      return scanner_.FailAt(at, StrCat("an index below ", tuple.tuple_shapes.size(), ", the size of the tuple"),
                             StrCat("index ", index, ", which is out of bounds"));
    }
    Instruction*& element = scope_->elements[{*operand, index}];
    if (element == nullptr) {
      element = Make(at, Opcode::kGetTupleElement, tuple.tuple_shapes[index], {*operand}, TupleIndexAttributes{index}, "");
    }
    *operand = element;
  }
  return true;
}

bool ModuleParser::ReadAttributes(InstructionDraft& draft, const char* opcode_at) {
  const absl::Span<const AttributeRule> rules = AttributeRules(draft.opcode);
  const absl::Span<const AttributeRule> common = CommonAttributeRules();
  uint64_t seen = 0;  // a bit for each rule of the opcode
  while (scanner_.Try(',')) {
    scanner_.SkipSpace();
    const char* at = scanner_.at();
    std::string_view name;
    if (!scanner_.Word(&name, "an attribute") || !scanner_.Expect('=')) return false;
    const auto twice = [&] { return scanner_.FailAt(at, StrCat("attribute ", name, " once")); };
    const AttributeRule* rule = nullptr;
    for (size_t i = 0; i < rules.size() && rule == nullptr; ++i) {
      if (rules[i].name != name) continue;
      rule = &rules[i];
      if (seen >> i & 1) return twice();
      seen |= uint64_t{1} << i;
    }
    for (size_t i = 0; i < common.size() && rule == nullptr; ++i) {
      if (common[i].name == name) rule = &common[i];
    }
    if (rule == nullptr && IsKnownAttribute(name)) {
      return scanner_.FailAt(at, StrCat("an attribute that ", OpcodeName(draft.opcode), " takes"),
                             StrCat("unexpected attribute \"", name, "\""));
    }
    for (const RawAttribute& raw : draft.raw) {
      if (raw.name == name) return twice();
    }
    AttributeReader reader{scanner_, draft, *this, name};
    if (!(rule != nullptr ? rule->read : &RawCodec<CheckAnything>::Read)(reader)) return false;
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].presence == Presence::kRequired && !(seen >> i & 1)) {
      return scanner_.FailAt(opcode_at, StrCat("attribute ", rules[i].name, " of ", OpcodeName(draft.opcode)), "none");
    }
  }
  if (!CheckCounts(draft, opcode_at)) return false;
  for (const Computation* called : draft.called) {
    if (called == nullptr) return scanner_.FailAt(opcode_at, StrCat("all computations that ", OpcodeName(draft.opcode), " calls"), "only some");
  }
  return true;
}

// parameter_replication has a value for each leaf of the parameter.
bool ModuleParser::CheckReplication(const Instruction& parameter, const InstructionDraft& draft, const char* opcode_at) {
  for (const RawAttribute& raw : draft.raw) {
    if (raw.name != "parameter_replication" || raw.value[0] != '{') continue;
    const bool empty = raw.value.find_first_of("tf01") == std::string::npos;
    const int64_t count = empty ? 0 : std::count(raw.value.begin(), raw.value.end(), ',') + 1;
    const int64_t leaves = parameter.shape().LeafCount();
    if (count != leaves) {
      return scanner_.FailAt(opcode_at, StrCat("parameter_replication of ", leaves, " leaf buffers"), StrCat(count));
    }
  }
  return true;
}

// Lists that are kept as written must still have as many entries as there are operands or leaves.
bool ModuleParser::CheckCounts(const InstructionDraft& draft, const char* opcode_at) {
  for (const RawAttribute& raw : draft.raw) {
    if (raw.name != "operand_layout_constraints") continue;
    Scanner list(raw.value, "");
    size_t count = 0;
    list.Expect('{');
    while (list.Peek() != '}' && !list.AtEnd()) {
      Shape shape;
      ParseShape(list, &shape);
      ++count;
      if (!list.Try(',')) break;
    }
    if (count != operands_.size()) {
      return scanner_.FailAt(opcode_at, StrCat(operands_.size(), " operand layout constraints"), StrCat(count));
    }
  }
  return true;
}

bool ModuleParser::ReadComputation(std::string_view role, Computation** computation) {
  if (scanner_.Peek() == '{') {
    const Nesting nesting(&depth_);
    if (depth_ > kNestingLimit) return scanner_.Fail(StrCat("at most ", kNestingLimit, " levels of nested bodies"));
    *computation = module_->AddComputation(StrCat(instruction_name_, ".", role));
    std::vector<Instruction*> outer_operands = std::exchange(operands_, {});
    const std::string_view outer_name = instruction_name_;
    if (!ReadBody(*computation, false)) return false;
    operands_ = std::move(outer_operands);
    instruction_name_ = outer_name;
    return true;
  }
  const char* at = scanner_.at();
  std::string_view name;
  if (!scanner_.Name(&name, "the name of a computation")) return false;
  const auto found = computations_.find(name);
  if (found == computations_.end()) return scanner_.FailAt(at, "a computation that is defined above");
  *computation = found->second;
  return true;
}

bool ModuleParser::ReadInstructionName(Instruction** instruction) {
  scanner_.SkipSpace();
  const char* at = scanner_.at();
  const std::string_view name = scanner_.TryName();
  const auto found = scope_->names.find(name);
  if (found == scope_->names.end()) return scanner_.FailAt(at, "an instruction that is defined above in this computation");
  *instruction = found->second;
  return true;
}

}  // namespace
}  // namespace text

absl::StatusOr<std::unique_ptr<Module>> ParseModule(std::string_view text, const ParseOptions& options) {
  return text::ModuleParser(text, options).Parse();
}

absl::StatusOr<Shape> ParseShape(std::string_view text) {
  text::Scanner scanner(text, "shape");
  Shape shape;
  if (!text::ParseShape(scanner, &shape)) return scanner.error();
  if (!scanner.AtEnd()) {
    scanner.Fail("the end of the shape");
    return scanner.error();
  }
  return shape;
}

}  // namespace smelt::hlo

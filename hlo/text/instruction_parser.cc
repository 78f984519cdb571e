// Instructions: shapes, opcodes, operands, attributes.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/literal.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/text/attribute_codecs.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/module_parser.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

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

// Opcodes whose asynchronous spelling is short for async-start and so on. Those with start and done opcodes of their
// own have no other.
bool RunsAsynchronously(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kCollectivePermute:
    case Opcode::kCopy:
    case Opcode::kSend:
    case Opcode::kRecv:
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return false;
    default:
      return true;
  }
}

const std::string* RawValue(const std::vector<RawAttribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const RawAttribute& attribute) { return attribute.name == name; });
  return found == attributes.end() ? nullptr : &found->value;
}

std::optional<int64_t> ChannelNumber(const std::string* written) {
  int64_t number;
  return written != nullptr && Scanner(*written, "").TryInteger(&number) ? std::optional(number) : std::nullopt;
}

}  // namespace

Instruction* ModuleParser::Find(std::string_view name) const {
  if (!scope_->renamed.empty()) {
    if (const auto found = scope_->renamed.find(name); found != scope_->renamed.end()) return found->second;
  }
  Instruction* instruction = module_->FindInstruction(name);
  if (instruction == nullptr || instruction->parent() != scope_->computation) return nullptr;
  return !scope_->named_by_us.empty() && scope_->named_by_us.contains(instruction) ? nullptr : instruction;
}

bool ModuleParser::Define(std::string_view name, Instruction* instruction) {
  if (instruction->name() == name) return true;
  scope_->named_by_us.insert(instruction);
  return Find(name) == nullptr && scope_->renamed.try_emplace(name, instruction).second;
}

bool ModuleParser::ReadInstruction() {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  const bool is_root = scanner_.Here() == 'R' && scanner_.Try(std::string_view("ROOT"));
  if (is_root && scope_->computation->root() != nullptr)
    return scanner_.FailAt(start, "only one ROOT in a computation");
  scanner_.SkipSpace();
  const char* name_at = scanner_.at();
  std::string_view name;
  if (!ReadNewName(&name, "the name of an instruction") || !scanner_.Expect('=')) return false;
  module_->PrefetchName(name);  // needed when shape, operands and attributes have been read
  Instruction* instruction;
  if (!ReadOperation(name_at, name, /*nested=*/false, &instruction)) return false;
  if (!Define(name, instruction)) {
    return scanner_.FailAt(name_at, "a name that no instruction of the computation has", StrCat("`", name, "` again"));
  }
  scope_->last = instruction;
  if (is_root) scope_->computation->set_root(instruction);
  return true;
}

bool ModuleParser::ReadOpcode(Opcode* opcode, AsyncPart* part) {
  scanner_.SkipSpace();
  const char* at = scanner_.at();
  const std::string_view word = scanner_.TryWord();
  if (word.empty()) return scanner_.Fail("a shape or an opcode");
  *part = AsyncPart::kNone;
  if (const std::optional<Opcode> found = OpcodeFromName(word)) {
    *opcode = *found;
    return true;
  }
  static constexpr std::pair<std::string_view, AsyncPart> kSuffixes[] = {
      {"-start", AsyncPart::kStart}, {"-update", AsyncPart::kUpdate}, {"-done", AsyncPart::kDone}};
  for (const auto& [suffix, async_part] : kSuffixes) {
    if (!word.ends_with(suffix)) continue;
    const std::optional<Opcode> found = OpcodeFromName(word.substr(0, word.size() - suffix.size()));
    if (!found || !RunsAsynchronously(*found)) continue;
    *opcode = *found;
    *part = async_part;
    return true;
  }
  return scanner_.FailAt(at, "an opcode of HLO");
}

bool ModuleParser::ReadOperation(const char* start, std::string_view name, bool nested, Instruction** made) {
  const Nesting nesting(&depth_);
  if (depth_ > kNestingLimit) return scanner_.Fail(StrCat("at most ", kNestingLimit, " levels of nested instructions"));
  Shape shape;
  const bool has_shape = AtShape(scanner_);
  if (has_shape && !ParseShape(scanner_, &shape)) return false;
  InstructionDraft draft;
  AsyncPart part;
  scanner_.SkipSpace();
  const char* opcode_at = scanner_.at();
  if (!ReadOpcode(&draft.opcode, &part)) return false;
  draft.attributes = EmptyAttributes(draft.opcode);
  const std::string_view outer_name = std::exchange(instruction_name_, name.empty() ? OpcodeName(draft.opcode) : name);
  Operands outer_operands = std::exchange(operands_, {});
  if (!ReadOperands(opcode_at, draft, has_shape ? &shape : nullptr, part)) return false;
  if (!nested && !ReadAttributes(draft, opcode_at, part)) return false;
  if (draft.opcode == Opcode::kMap && !operands_.empty()) {
    // Absent dimensions are all of them.
    std::vector<int64_t>& dimensions = std::get<DimensionsAttributes>(draft.attributes).dimensions;
    if (dimensions.empty()) {
      dimensions.resize(operands_[0]->shape().dimensions.size());
      std::iota(dimensions.begin(), dimensions.end(), 0);
    }
  }
  if (part != AsyncPart::kNone) {
    if (!ReadAsync(start, opcode_at, name, has_shape ? &shape : nullptr, part, draft, made)) return false;
    operands_ = std::move(outer_operands);
    instruction_name_ = outer_name;
    return true;
  }
  // The later parts of an asynchronous operation need not repeat what it calls.
  if ((draft.opcode == Opcode::kAsyncUpdate || draft.opcode == Opcode::kAsyncDone) && draft.called.empty() &&
      !operands_.empty() &&
      (operands_[0]->opcode() == Opcode::kAsyncStart || operands_[0]->opcode() == Opcode::kAsyncUpdate)) {
    draft.called = {operands_[0]->called().begin(), operands_[0]->called().end()};
  }
  // What a recv-done says that it received is not asked: XLA takes its recv's shape.
  if (!has_shape || draft.opcode == Opcode::kRecvDone) {
    absl::StatusOr<Shape> inferred = InferShape(draft.opcode, operands_, draft.attributes, draft.called);
    if (inferred.ok()) {
      shape = *std::move(inferred);
    } else if (!has_shape) {
      scanner_.Complain(opcode_at, inferred.status());
      return false;
    }
  }
  if (!operands_.empty() && IsFloat(shape.element_type) && operands_[0]->shape().element_type != shape.element_type &&
      !MakeConversionExplicit(start, shape, draft)) {
    return false;
  }
  Instruction* instruction = Make(start, draft.opcode, std::move(shape), operands_, std::move(draft.attributes), name,
                                  std::move(draft.called));
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

// XLA lets a copy or a reduction round its result to another float type, as a convert does. Here the convert is an
// instruction.
bool ModuleParser::MakeConversionExplicit(const char* start, const Shape& shape, InstructionDraft& draft) {
  if (!IsFloat(operands_[0]->shape().element_type)) return true;
  if (draft.opcode == Opcode::kCopy) draft.opcode = Opcode::kConvert;
  if (draft.opcode != Opcode::kReduce) return true;
  const absl::StatusOr<Shape> inferred = InferShape(draft.opcode, operands_, draft.attributes, draft.called);
  // What breaks the rule is the verifier's business.
  if (!inferred.ok() || !inferred->IsArray() || inferred->element_type == shape.element_type) return true;
  Instruction* reduce =
      Make(start, draft.opcode, Shape(*inferred), operands_, std::move(draft.attributes), "", std::move(draft.called));
  operands_ = {reduce};
  draft.called.clear();
  draft.opcode = Opcode::kConvert;
  draft.attributes = EmptyAttributes(draft.opcode);
  return true;
}

Instruction* ModuleParser::Make(const char* at, Opcode opcode, Shape&& shape, absl::Span<Instruction* const> operands,
                                Attributes&& attributes, std::string_view name, std::vector<Computation*>&& called) {
  Instruction* instruction =
      scope_->computation->Add(opcode, std::move(shape), operands, std::move(attributes), name, std::move(called));
  if (name.empty()) scope_->named_by_us.insert(instruction);
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

bool ModuleParser::ReadOperands(const char* opcode_at, InstructionDraft& draft, const Shape* shape, AsyncPart part) {
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
    operands_.reserve(std::max(GetOpcodeInfo(draft.opcode).arity, 2));
    do {
      Instruction* operand;
      if (!ReadOperand(&operand)) return false;
      operands_.push_back(operand);
    } while (scanner_.Try(','));
    if (!scanner_.Expect(')')) return false;
  }
  const int arity = GetOpcodeInfo(draft.opcode).arity;
  if (part == AsyncPart::kNone && arity != kVariadic && static_cast<int>(operands_.size()) != arity) {
    return scanner_.FailAt(opcode_at,
                           StrCat(arity, arity == 1 ? " operand" : " operands", " of ", OpcodeName(draft.opcode)),
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
  *operand = Find(name);
  if (*operand == nullptr) {
    if (!scope_->unknown_operands_are_parameters || (name.empty() && !has_shape)) {
      return scanner_.FailAt(name_at, "an instruction that is defined above in this computation");
    }
    if (!has_shape) return scanner_.FailAt(start, "the shape of an operand that is not defined above");
    *operand =
        Make(start, Opcode::kParameter, std::move(shape), {}, ParameterAttributes{scope_->next_parameter++}, name);
    return name.empty() || Define(name, *operand);
  }
  if (scanner_.Here() == '#' && !ReadTupleElements(operand)) return false;
  if (has_shape && !shape.SameAs((*operand)->shape())) {
    return scanner_.FailAt(start, StrCat((*operand)->shape().ToString(), ", the shape of `", name, "`"),
                           shape.ToString());
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
      return scanner_.FailAt(at, "a tuple before `#`",
                             StrCat("`", (*operand)->name(), "` of shape ", tuple.ToString()));
    }
    if (index < 0 || index >= static_cast<int64_t>(tuple.tuple_shapes.size())) {
      return scanner_.FailAt(at, StrCat("an index below ", tuple.tuple_shapes.size(), ", the size of the tuple"),
                             StrCat("index ", index, ", which is out of bounds"));
    }
    Instruction*& element = scope_->elements[{*operand, index}];
    if (element == nullptr) {
      element = Make(at, Opcode::kGetTupleElement, Shape(tuple.tuple_shapes[index]), {*operand},
                     TupleIndexAttributes{index}, "");
    }
    *operand = element;
  }
  return true;
}

bool ModuleParser::ReadAttributes(InstructionDraft& draft, const char* opcode_at, AsyncPart part) {
  const absl::Span<const AttributeRule> rules = AttributeRules(draft.opcode);
  const absl::Span<const AttributeRule> common = CommonAttributeRules();
  uint64_t seen = 0, seen_common = 0;  // a bit for each rule
  while (scanner_.Try(',')) {
    scanner_.SkipSpace();
    const char* at = scanner_.at();
    std::string_view name;
    if (!scanner_.AttributeName(&name, "an attribute")) return false;
    const auto twice = [&] { return scanner_.FailAt(at, StrCat("attribute ", name, " once")); };
    const AttributeRule* rule = nullptr;
    for (size_t i = 0; i < rules.size() && rule == nullptr; ++i) {
      if (rules[i].name != name) continue;
      rule = &rules[i];
      if (seen >> i & 1) return twice();
      seen |= uint64_t{1} << i;
    }
    for (size_t i = 0; i < common.size() && rule == nullptr; ++i) {
      if (common[i].name != name) continue;
      rule = &common[i];
      if (seen_common >> i & 1) return twice();
      seen_common |= uint64_t{1} << i;
    }
    if (rule == nullptr && part != AsyncPart::kNone && name == "async_execution_thread") {
      const absl::Span<const AttributeRule> async_rules = AttributeRules(Opcode::kAsyncStart);
      rule = std::find_if(async_rules.begin(), async_rules.end(), [&](const auto& r) { return r.name == name; });
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
  for (size_t i = 0; i < rules.size() && part <= AsyncPart::kStart; ++i) {
    if (rules[i].presence == Presence::kRequired && !(seen >> i & 1)) {
      return scanner_.FailAt(opcode_at, StrCat("attribute ", rules[i].name, " of ", OpcodeName(draft.opcode)), "none");
    }
  }
  for (const Computation* called : draft.called) {
    if (called == nullptr)
      return scanner_.FailAt(opcode_at, StrCat("all computations that ", OpcodeName(draft.opcode), " calls"),
                             "only some");
  }
  return part != AsyncPart::kNone || CheckAgreement(draft, opcode_at);
}

// parameter_replication has a value for each leaf of the parameter.
bool ModuleParser::CheckReplication(const Instruction& parameter, const InstructionDraft& draft,
                                    const char* opcode_at) {
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

// A shape for each operand, which it is but for its layout.
bool ModuleParser::CheckConstraints(const std::string& constraints, const char* opcode_at) {
  Scanner list(constraints, "");
  list.set_verifies(scanner_.verifies());
  size_t count = 0;
  list.Expect('{');
  while (list.Peek() != '}' && !list.AtEnd()) {
    Shape shape;
    ParseShape(list, &shape);  // read once before
    if (count < operands_.size() && !shape.SameAs(operands_[count]->shape())) {
      return scanner_.FailAt(opcode_at,
                             StrCat("operand layout constraint ", count, " of shape ",
                                    operands_[count]->shape().ToString(), ", as the operand is"),
                             shape.ToString());
    }
    ++count;
    if (!list.Try(',')) break;
  }
  return count == operands_.size() ||
         scanner_.FailAt(opcode_at, StrCat(operands_.size(), " operand layout constraints"), StrCat(count));
}

// What is kept as written must still agree with the rest of its instruction.
bool ModuleParser::CheckAgreement(const InstructionDraft& draft, const char* opcode_at) {
  const auto* constraints = RawValue(draft.raw, "operand_layout_constraints");
  if (constraints != nullptr && !CheckConstraints(*constraints, opcode_at)) return false;
  switch (draft.opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter: {
      const std::string* global = RawValue(draft.raw, "use_global_device_ids");
      return global == nullptr || *global != "true" || RawValue(draft.raw, "mode") != nullptr ||
             std::get<CollectiveAttributes>(draft.attributes).channel_id ||
             scanner_.FailAt(opcode_at, "a channel_id with use_global_device_ids=true", "none");
    }
    case Opcode::kSendDone:
    case Opcode::kRecvDone: {
      if (operands_[0]->opcode() != Opcode::kSend && operands_[0]->opcode() != Opcode::kRecv) return true;
      const std::string* started = RawValue(operands_[0]->raw_attributes(), "channel_id");
      const std::string* done = RawValue(draft.raw, "channel_id");
      return ChannelNumber(started) == ChannelNumber(done) ||
             scanner_.FailAt(opcode_at,
                             StrCat(started == nullptr ? "no channel_id" : StrCat("channel_id=", *started), ", as `",
                                    operands_[0]->name(), "` has"),
                             done == nullptr ? "none" : *done);
    }
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return operands_.empty() || CheckThread(*operands_[0], draft.raw, opcode_at);
    default:
      return true;
  }
}

bool ModuleParser::ReadComputation(std::string_view role, Computation** computation) {
  if (scanner_.Peek() == '{') {
    const Nesting nesting(&depth_);
    if (depth_ > kNestingLimit) return scanner_.Fail(StrCat("at most ", kNestingLimit, " levels of nested bodies"));
    *computation = module_->AddComputation(StrCat(instruction_name_, ".", role));
    Operands outer_operands = std::exchange(operands_, {});
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
  *instruction = Find(name);
  return *instruction != nullptr || scanner_.FailAt(at, "an instruction that is defined above in this computation");
}

}  // namespace smelt::hlo::text

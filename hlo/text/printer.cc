#include "hlo/text/printer.h"

#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/literal.h"
#include "hlo/raw_attribute.h"
#include "hlo/text/attribute_codec.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/reserved_words.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo {
namespace text {

void PrintedNames::Append(std::string* out, const Instruction& instruction) const {
  const auto found = instructions_.find(&instruction);
  if (found == instructions_.end()) {
    StrAppend(out, "%", instruction.name());
  } else {
    StrAppend(out, "%v", found->second);
  }
}

void PrintedNames::Append(std::string* out, const Computation& computation) const {
  const auto found = computations_.find(&computation);
  if (found == computations_.end()) {
    StrAppend(out, "%", computation.name());
  } else {
    StrAppend(out, "%c", found->second);
  }
}

namespace {

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string Finish() { return std::move(out_); }

  void Print(const Module& module) {
    const std::vector<Computation*> order = module.PostOrder();
    if (Canonical()) {
      for (const Computation* computation : order) {
        names_.Number(*computation);
        for (const Instruction* instruction : computation->PostOrder()) names_.Number(*instruction);
      }
    }
    // A module's name has no sign that would let it begin with a digit, or be a word of the language.
    const bool digit = !module.name().empty() && module.name()[0] >= '0' && module.name()[0] <= '9';
    StrAppend(&out_, "HloModule ", (digit || IsReservedWord(module.name())) && !Canonical() ? "_" : "",
              Canonical() ? std::string("module") : module.name());
    if (!Canonical()) PrintHeaderAttributes(module);
    out_ += '\n';
    if (options_.style == PrintStyle::kFull && !module.tables().empty()) StrAppend(&out_, "\n", module.tables(), "\n");
    for (const Computation* computation : order) {
      out_ += '\n';
      if (computation == module.entry()) out_ += "ENTRY ";
      Print(*computation);
    }
  }

  void Print(const Computation& computation) {
    names_.Append(&out_, computation);
    const std::vector<Instruction*> order = computation.PostOrder();
    if (!Canonical()) PrintSignature(computation);
    out_ += " {\n";
    for (const Instruction* instruction : order) {
      out_ += "  ";
      Print(*instruction);
      out_ += '\n';
    }
    out_ += '}';
    if (!Canonical()) {
      for (const RawAttribute& attribute : computation.raw_attributes()) PrintRaw(attribute);
    }
    out_ += '\n';
  }

  void Print(const Instruction& instruction) {
    if (instruction.IsRoot()) out_ += "ROOT ";
    names_.Append(&out_, instruction);
    out_ += " = ";
    PrintShape(instruction.shape());
    StrAppend(&out_, " ", OpcodeName(instruction.opcode()), "(");
    PrintOperands(instruction);
    out_ += ')';
    PrintAttributes(instruction);
  }

 private:
  bool Canonical() const { return options_.style == PrintStyle::kCanonical; }

  void PrintHeaderAttributes(const Module& module) {
    for (const RawAttribute& attribute : module.raw_attributes()) {
      if (attribute.name == "entry_computation_layout") {
        PrintRaw({attribute.name, PrintedEntryLayout(module, attribute.value)});
      } else {
        PrintRaw(attribute);
      }
    }
  }

  void PrintSignature(const Computation& computation) {
    if (computation.root() == nullptr) return;
    out_ += " (";
    bool first = true;
    for (const Instruction* parameter : computation.Parameters()) {
      if (parameter == nullptr) continue;
      if (!first) out_ += ", ";
      first = false;
      // A name that begins with a digit is one only behind its sign.
      const bool digit = !parameter->name().empty() && parameter->name()[0] >= '0' && parameter->name()[0] <= '9';
      StrAppend(&out_, digit ? "%" : "", parameter->name(), ": ");
      AppendShape(&out_, parameter->shape(), /*with_layout=*/false);
    }
    out_ += ") -> ";
    AppendShape(&out_, computation.root()->shape(), /*with_layout=*/false);
  }

  void PrintShape(const Shape& shape) {
    if (!Canonical()) return AppendShape(&out_, shape);
    if (shape.IsTuple()) {
      out_ += '(';
      for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
        if (i > 0) out_ += ", ";
        PrintShape(shape.tuple_shapes[i]);
      }
      out_ += ')';
      return;
    }
    const bool plain =
        !shape.layout || (shape.HasDefaultLayout() && shape.layout->tiles.empty() && shape.layout->rest.empty());
    AppendShape(&out_, shape, !plain);
  }

  void PrintOperands(const Instruction& instruction) {
    if (instruction.opcode() == Opcode::kParameter) {
      StrAppend(&out_, instruction.attributes<ParameterAttributes>().number);
      return;
    }
    if (instruction.opcode() == Opcode::kConstant) {
      const ConstantAttributes& constant = instruction.attributes<ConstantAttributes>();
      if (constant.literal == nullptr || (constant.elided && !options_.stand_ins) ||
          constant.literal->element_count() > options_.largest_constant) {
        out_ += "{...}";
      } else {
        AppendLiteral(&out_, *constant.literal);
      }
      return;
    }
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (i > 0) out_ += ", ";
      if (i > 0 && i % 5 == 0) StrAppend(&out_, "/*index=", i, "*/");
      names_.Append(&out_, *instruction.operand(i));
    }
  }

  void PrintAttributes(const Instruction& instruction) {
    if (HasFamilyOf(instruction.all_attributes(), instruction.opcode())) {
      for (const AttributeRule& rule : AttributeRules(instruction.opcode())) PrintByRule(rule, instruction);
    }
    for (const AttributeRule& rule : CommonAttributeRules()) PrintByRule(rule, instruction);
    for (const RawAttribute& attribute : instruction.raw_attributes()) {
      if (options_.style == PrintStyle::kFull || ChangesMeaning(attribute, instruction.opcode())) PrintRaw(attribute);
    }
  }

  void PrintByRule(const AttributeRule& rule, const Instruction& instruction) {
    const size_t before = out_.size();
    StrAppend(&out_, ", ", rule.name, "=");
    if (!rule.print({out_, names_}, instruction, rule.presence)) out_.resize(before);
  }

  void PrintRaw(const RawAttribute& attribute) {
    if (attribute.name != kProtoFields) StrAppend(&out_, ", ", attribute.name, "=", attribute.value);
  }

  const PrintOptions& options_;
  PrintedNames names_;
  std::string out_;
};

// Whether an entry layout is that of the entry: a pass may have changed what it takes and gives.
bool LayoutFits(const Module& module, std::string_view value) {
  if (module.entry() == nullptr || module.entry()->root() == nullptr) return true;
  Scanner scanner(value, "");
  if (!scanner.Expect('{') || !scanner.Expect('(')) return false;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    Shape shape;
    if (parameter == nullptr) return true;
    scanner.Try(',');
    if (scanner.Peek() == ')' || !ParseShape(scanner, &shape) || !shape.SameAs(parameter->shape())) return false;
  }
  Shape result;
  return scanner.Expect(')') && scanner.Expect(std::string_view("->")) && ParseShape(scanner, &result) &&
         result.SameAs(module.entry()->root()->shape());
}

template <typename T>
std::string Print(const T& thing, const PrintOptions& options) {
  Printer printer(options);
  printer.Print(thing);
  return printer.Finish();
}

}  // namespace
}  // namespace text

std::string ToText(const Module& module, const PrintOptions& options) { return text::Print(module, options); }
std::string ToText(const Computation& computation, const PrintOptions& options) {
  return text::Print(computation, options);
}
std::string ToText(const Instruction& instruction, const PrintOptions& options) {
  return text::Print(instruction, options);
}

std::string PrintedEntryLayout(const Module& module, const std::string& given) {
  if (text::LayoutFits(module, given)) return given;
  std::string out = "{(";
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter == nullptr) continue;
    if (out.back() != '(') out += ", ";
    text::AppendShape(&out, parameter->shape());
  }
  out += ")->";
  text::AppendShape(&out, module.entry()->root()->shape());
  out += '}';
  return out;
}

}  // namespace smelt::hlo

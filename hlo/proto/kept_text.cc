#include "hlo/proto/kept_text.h"

#include <algorithm>
#include <type_traits>

#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/proto/typed_fields.h"
#include "hlo/text/attribute_codec.h"

namespace smelt::hlo::proto {
namespace {

constexpr char kPredicateForm[] = "true_computation";
constexpr char kBranchesForm[] = "branch_computations";

// Names of computations: the proto's called ids say them.
bool NamesComputations(std::string_view value) { return value.starts_with("%") || value.starts_with("{%"); }

bool SameMeaning(const Attributes& a, const Attributes& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        using X = std::decay_t<decltype(x)>;
        if constexpr (!std::is_same_v<X, std::decay_t<decltype(y)>>) {
          return false;
        } else if constexpr (std::is_same_v<X, ConstantAttributes>) {
          return true;
        } else {
          return x == y;
        }
      },
      a, b);
}

class NoHost : public text::AttributeHost {
 public:
  bool ReadComputation(std::string_view, Computation**) override { return false; }
  bool ReadInstructionName(Instruction**) override { return false; }
};

}  // namespace

void KeepTyped(const Instruction& instruction, HloInstructionProto* to) {
  if (!HasFamilyOf(instruction.all_attributes(), instruction.opcode())) return;
  Attributes back = EmptyAttributes(instruction.opcode());
  if (ReadTyped(*to, instruction.operands(), &back).ok() && SameMeaning(back, instruction.all_attributes())) return;
  KeptText* kept = to->mutable_smelt_kept();
  if (const auto* conditional = std::get_if<ConditionalAttributes>(&instruction.all_attributes())) {
    kept->add_typed()->set_name(conditional->predicate_form ? kPredicateForm : kBranchesForm);
    return;
  }
  const text::PrintedNames names;
  for (const text::AttributeRule& rule : text::AttributeRules(instruction.opcode())) {
    std::string value;
    if (!rule.print({value, names}, instruction, rule.presence) || NamesComputations(value)) continue;
    KeptText::Attribute* attribute = kept->add_typed();
    attribute->set_name(std::string(rule.name));
    attribute->set_value(value);
  }
}

absl::Status RestoreTyped(const HloInstructionProto& from, Opcode opcode, Attributes* attributes) {
  if (from.smelt_kept().typed_size() == 0) return absl::OkStatus();
  text::InstructionDraft draft;
  draft.opcode = opcode;
  draft.attributes = EmptyAttributes(opcode);
  NoHost host;
  for (const KeptText::Attribute& attribute : from.smelt_kept().typed()) {
    if (auto* conditional = std::get_if<ConditionalAttributes>(&draft.attributes)) {
      conditional->predicate_form = attribute.name() == kPredicateForm;
      continue;
    }
    bool read = false;
    for (const text::AttributeRule& rule : text::AttributeRules(opcode)) {
      if (rule.name != attribute.name()) continue;
      text::Scanner scanner(attribute.value(), "");
      text::AttributeReader reader{scanner, draft, host, rule.name};
      read = rule.read(reader) && scanner.AtEnd();
    }
    if (!read) {
      return absl::InvalidArgumentError(StrCat("kept attribute `", attribute.name(), "=",
                                               attribute.value().substr(0, 80), "` is none of this opcode"));
    }
  }
  // A constant's value is not among them.
  if (!std::holds_alternative<ConstantAttributes>(draft.attributes)) *attributes = std::move(draft.attributes);
  return absl::OkStatus();
}

const std::vector<RawAttribute>& Said(const std::vector<RawAttribute>& attributes, std::vector<RawAttribute>* buffer) {
  const auto unknown = [](const RawAttribute& attribute) { return attribute.name == kProtoFields; };
  if (std::none_of(attributes.begin(), attributes.end(), unknown)) return attributes;
  *buffer = attributes;
  std::erase_if(*buffer, unknown);
  return *buffer;
}

}  // namespace smelt::hlo::proto

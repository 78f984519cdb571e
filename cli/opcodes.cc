// smelt opcodes: what is supported, opcode by opcode, as the Markdown of docs/hlo-support.md.
//
// Nothing of it is written down here: every cell asks the table or function that decides when a module is read,
// verified, evaluated, fused or compiled.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/verb.h"
#include "fusion/edge_rules.h"
#include "fusion/kernel.h"
#include "fusion/rules.h"
#include "hlo/attribute_family.h"
#include "hlo/evaluator/support.h"
#include "hlo/loop_nest.h"
#include "hlo/module.h"
#include "hlo/shape_inference/rules.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/text/attribute_codec.h"
#include "targets/cpu/program/native_plan.h"
#include "targets/cpu/program/program_builder.h"

namespace smelt::cli {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;

constexpr std::string_view kHead = R"(# What is supported, opcode by opcode

Made by `smelt opcodes > docs/hlo-support.md`; a test compares. Every cell comes from the table or function that decides when a module is
read, verified, evaluated, fused or compiled.

All opcodes are read from text and protos, printed, and verified. `float` means every type from f64 down to the 8-, 6- and 4-bit ones, `integer`
`signed` (s1 to s64) and `unsigned` (u1 to u64). What an instruction needs beyond its opcode (a static shape with elements, for example) is told by `smelt inspect --kernels`
and `smelt inspect --why`.

- **operands, attributes**: what the text has; attributes in bold must be there. Those of any opcode: )";

constexpr std::string_view kColumns =
    R"(- **verifies**: the element types of an elementwise opcode; of others, whether the shape follows from a rule or is believed as declared.
- **evaluates**: by `smelt run --engine=evaluator`, in these types.
- **compiles**: as loops, in these types or under this condition; *native*: an operation of the runtime, or, in rare forms that
  `smelt inspect --kernels` names, *opaque*; *opaque*: the evaluator runs it inside the compiled program, with the reason; or what the program does in place of a kernel.
- **fuses**: the role that decides with what (second table); *alone*: a kernel of its own; -: no kernel.
)";

constexpr std::string_view kRolesHead = R"(
## What may share a kernel

One row a producer, one column a consumer that reads it; further rules look at sizes, layouts and the rest of the kernel (`smelt inspect --why`).

)";

std::vector<PrimitiveType> ArrayTypes() {
  std::vector<PrimitiveType> types;
  for (int t = 0; t < static_cast<int>(PrimitiveType::kTuple); ++t) types.push_back(static_cast<PrimitiveType>(t));
  return types;
}

struct TypeClass {
  std::string_view name;
  bool (*holds)(PrimitiveType);
};
constexpr TypeClass kClasses[] = {
    {"pred", [](PrimitiveType type) { return type == PrimitiveType::kPred; }},
    {"integer", hlo::IsInteger},
    {"signed", hlo::IsSigned},
    {"unsigned", hlo::IsUnsigned},
    {"float", hlo::IsFloat},
    {"complex", hlo::IsComplex},
};

// `pred, integer, f32`: whole classes by their name, the types of others one by one.
std::string Describe(const std::vector<PrimitiveType>& types) {
  std::vector<std::string> words;
  const auto all = [&](bool (*holds)(PrimitiveType)) {
    for (PrimitiveType type : ArrayTypes()) {
      if (holds(type) && std::find(types.begin(), types.end(), type) == types.end()) return false;
    }
    return true;
  };
  const bool every_integer = all(hlo::IsInteger);
  for (const TypeClass& type_class : kClasses) {
    // Integers in one word where they can be, by their sign otherwise.
    if (type_class.holds == hlo::IsInteger && !every_integer) continue;
    if ((type_class.holds == hlo::IsSigned || type_class.holds == hlo::IsUnsigned) && every_integer) continue;
    std::vector<std::string> in, out;
    for (PrimitiveType type : ArrayTypes()) {
      if (!type_class.holds(type)) continue;
      const bool held = std::find(types.begin(), types.end(), type) != types.end();
      (held ? in : out).push_back(std::string(hlo::PrimitiveTypeName(type)));
    }
    if (in.empty()) continue;
    if (out.empty()) {
      words.push_back(std::string(type_class.name));
    } else if (out.size() < in.size()) {
      words.push_back(absl::StrCat(std::string(type_class.name), " but ", absl::StrJoin(out, " ")));
    } else {
      words.push_back(absl::StrJoin(in, " "));
    }
  }
  return words.empty() ? "-" : absl::StrJoin(words, ", ");
}

// The types in which an elementwise opcode verifies, and those of them in which it runs.
struct ElementwiseTypes {
  std::vector<PrimitiveType> verify, evaluate, compile;
};

PrimitiveType RandomBitsFor(PrimitiveType type) {
  for (PrimitiveType bits : ArrayTypes()) {
    if (hlo::IsUnsigned(bits) && hlo::BitWidth(bits) == hlo::BitWidth(type)) return bits;
  }
  return type;
}

// Instructions of the opcode on operands of one type: one, or one a result type where the opcode leaves it open.
std::vector<const hlo::Instruction*> Samples(Opcode opcode, PrimitiveType type, hlo::Computation& computation) {
  std::vector<hlo::Instruction*> operands;
  for (int i = 0; i < hlo::GetOpcodeInfo(opcode).arity; ++i) {
    PrimitiveType of_operand = type;
    if (opcode == Opcode::kSelect && i == 0) of_operand = PrimitiveType::kPred;
    if (opcode == Opcode::kStochasticConvert && i == 1) of_operand = RandomBitsFor(type);
    operands.push_back(computation.Add(Opcode::kParameter, hlo::Shape::Array(of_operand, {4}), {},
                                       hlo::ParameterAttributes{static_cast<int64_t>(operands.size())}));
  }
  hlo::Attributes attributes = hlo::EmptyAttributes(opcode);
  if (auto* precision = std::get_if<hlo::ReducePrecisionAttributes>(&attributes)) *precision = {5, 10};
  std::vector<const hlo::Instruction*> samples;
  if (auto inferred = hlo::AddInferred(computation, opcode, operands, attributes); inferred.ok()) {
    samples.push_back(*inferred);
  }
  if (opcode != Opcode::kConvert && opcode != Opcode::kStochasticConvert) return samples;
  samples.clear();
  for (PrimitiveType result : ArrayTypes()) {
    const hlo::Instruction* sample = computation.Add(opcode, hlo::Shape::Array(result, {4}), operands, attributes);
    if (hlo::CheckShape(*sample).ok()) samples.push_back(sample);
  }
  return samples;
}

ElementwiseTypes TypesOf(Opcode opcode) {
  ElementwiseTypes types;
  for (PrimitiveType type : ArrayTypes()) {
    hlo::Module module("sample");
    const std::vector<const hlo::Instruction*> samples = Samples(opcode, type, *module.AddComputation("sample"));
    bool evaluates = !samples.empty(), compiles = evaluates;
    for (const hlo::Instruction* sample : samples) {
      // Converting to a complex number has no loop nest whatever the operand; that says nothing of the operand's type.
      const bool to_complex = opcode == Opcode::kConvert && hlo::IsComplex(sample->shape().element_type);
      evaluates &= hlo::EvaluatorRuns(*sample);
      compiles &= (to_complex && !hlo::IsComplex(type)) || hlo::HasLoopNest(*sample).ok();
    }
    if (!samples.empty()) types.verify.push_back(type);
    if (evaluates) types.evaluate.push_back(type);
    if (compiles) types.compile.push_back(type);
  }
  return types;
}

std::string Operands(Opcode opcode) {
  const int arity = hlo::GetOpcodeInfo(opcode).arity;
  return arity == hlo::kVariadic ? "any" : absl::StrCat(arity);
}

std::string AttributeNames(absl::Span<const hlo::text::AttributeRule> rules) {
  std::vector<std::string> names;
  for (const hlo::text::AttributeRule& rule : rules) {
    const std::string name(rule.name);
    names.push_back(rule.presence == hlo::text::Presence::kRequired ? absl::StrCat("**", name, "**") : name);
  }
  return absl::StrJoin(names, ", ");
}

std::string RoleName(fusion::Role role) {
  switch (role) {
    case fusion::Role::kOutside:
    case fusion::Role::kFree:
      return "-";
    case fusion::Role::kInjective:
      return "injective";
    case fusion::Role::kReduction:
      return "reduction";
    case fusion::Role::kContraction:
      return "contraction";
    case fusion::Role::kOpaque:
      return "alone";
  }
  return "-";
}

std::string Compiles(Opcode opcode, const ElementwiseTypes& types) {
  std::vector<std::string> ways;
  if (const std::string_view how = cpu::WithoutKernel(opcode); !how.empty()) {
    ways.push_back(std::string(how));
  }
  if (fusion::IsKernel(opcode) || opcode == Opcode::kConstant) {
    const hlo::OpcodeLoops loops = hlo::LoopsOf(opcode);
    const std::string note(loops.note);
    if (!loops.loop_nest) {
      if (!hlo::EvaluatorRuns(opcode)) return "refused: nothing here runs it";
      ways.push_back(absl::StrCat(cpu::HasNativePlan(opcode) ? "*native*: " : "*opaque*: ", note));
    } else if (hlo::IsElementwise(opcode)) {
      ways.push_back(types.compile.empty() ? "*opaque*" : absl::StrCat("loops: ", Describe(types.compile)));
    } else {
      ways.push_back(note.empty() ? "loops" : absl::StrCat("loops ", note));
    }
  }
  if (ways.empty()) return opcode == Opcode::kParameter ? "an argument" : "refused: no compiled form";
  return absl::StrJoin(ways, "; ");
}

void PrintRow(Opcode opcode) {
  ElementwiseTypes types;
  fusion::Role role = fusion::RoleOf(opcode);
  std::string verifies, evaluates;
  if (hlo::IsElementwise(opcode)) {
    types = TypesOf(opcode);
    verifies = Describe(types.verify);
    evaluates = Describe(types.evaluate);
    if (types.compile.empty()) role = fusion::Role::kOpaque;
  } else {
    verifies = hlo::shape_inference::RuleOf(opcode) != nullptr ? "shape by rule" : "shape as declared";
    evaluates = hlo::EvaluatorRuns(opcode) ? "yes" : "no";
  }
  std::printf("| `%s` | %s | %s | %s | %s | %s | %s |\n", std::string(hlo::OpcodeName(opcode)).c_str(),
              Operands(opcode).c_str(), AttributeNames(hlo::text::AttributeRules(opcode)).c_str(), verifies.c_str(),
              evaluates.c_str(), Compiles(opcode, types).c_str(), RoleName(role).c_str());
}

// Which rule forbids an edge between two roles, whatever the instructions.
void PrintRoles() {
  struct Kind {
    std::string_view name;
    fusion::Role role;
    bool elementwise;
  };
  constexpr Kind kKinds[] = {
      {"elementwise", fusion::Role::kInjective, true}, {"other injective", fusion::Role::kInjective, false},
      {"reduction", fusion::Role::kReduction, false},  {"contraction", fusion::Role::kContraction, false},
      {"alone", fusion::Role::kOpaque, false},
  };
  hlo::Module module("sample");
  const hlo::Instruction* any = module.AddComputation("sample")->Add(
      Opcode::kParameter, hlo::Shape::Scalar(PrimitiveType::kF32), {}, hlo::ParameterAttributes{0});
  const fusion::Rules rules = fusion::Rules::OwnKernels();
  std::printf("| producer |");
  for (const Kind& consumer : kKinds) std::printf(" %s |", std::string(consumer.name).c_str());
  std::printf("\n|---|");
  for (size_t i = 0; i < std::size(kKinds); ++i) std::printf("---|");
  std::printf("\n");
  std::vector<fusion::Reason> met;
  for (const Kind& producer : kKinds) {
    std::printf("| %s |", std::string(producer.name).c_str());
    for (const Kind& consumer : kKinds) {
      fusion::Node from, to;
      from.instruction = to.instruction = any;
      from.role = producer.role;
      from.elementwise = producer.elementwise;
      to.role = consumer.role;
      to.elementwise = consumer.elementwise;
      const fusion::Reason reason = fusion::EdgeRule(from, to, 0, rules);
      if (std::find(met.begin(), met.end(), reason) == met.end()) met.push_back(reason);
      std::printf(" %s |", std::string(fusion::Describe(reason).code).c_str());
    }
    std::printf("\n");
  }
  std::printf("\n");
  for (fusion::Reason reason : met) {
    std::printf("- %s: %s\n", std::string(fusion::Describe(reason).code).c_str(),
                std::string(fusion::Describe(reason).text).c_str());
  }
}

absl::Status Opcodes() {
  std::printf("%s%s.\n%s\n", std::string(kHead).c_str(), AttributeNames(hlo::text::CommonAttributeRules()).c_str(),
              std::string(kColumns).c_str());
  std::printf(
      "| opcode | operands | attributes | verifies | evaluates | compiles | fuses |\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < hlo::kOpcodeCount; ++i) PrintRow(static_cast<Opcode>(i));
  std::printf("%s", std::string(kRolesHead).c_str());
  PrintRoles();
  return absl::OkStatus();
}

}  // namespace

Action AddOpcodes(Arguments&) {
  return [] { return Opcodes(); };
}

}  // namespace smelt::cli

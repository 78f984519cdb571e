#include "hlo/text/parser.h"

#include <utility>

#include "base/str_cat.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/module_parser.h"
#include "hlo/text/printer.h"
#include "hlo/text/reserved_words.h"
#include "hlo/text/shape_text.h"
#include "hlo/unreachable.h"

namespace smelt::hlo {
namespace text {

absl::StatusOr<std::unique_ptr<Module>> ModuleParser::Parse() {
  if (!ReadModule()) return scanner_.error();
  if (options_.verify) {
    if (const absl::Status status = Verify(); !status.ok()) return status;
  }
  return std::move(module_);
}

absl::Status ModuleParser::Verify() {
  std::optional<Problem> problem = FindProblem(*module_);
  // Test files hold leftovers that nothing calls and XLA never looks at. Where they break a rule they are dropped, so
  // that no pass meets them.
  if (problem && problem->computation != nullptr && RemoveUnreachableComputations(*module_))
    problem = FindProblem(*module_);
  if (problem) return Locate(*problem);
  for (const RawAttribute& attribute : module_->raw_attributes()) {
    if (attribute.name != "entry_computation_layout") continue;
    // Passes may change the entry computation, and the printer then writes its shapes; a text has no such excuse.
    const std::string fitting = PrintedEntryLayout(*module_, attribute.value);
    if (fitting == attribute.value) continue;
    return Locate({module_->entry(), nullptr,
                   StrCat("entry_computation_layout must have the shapes of the entry computation, ", fitting, ", is ",
                          attribute.value)});
  }
  return absl::OkStatus();
}

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
  // An instruction takes 80 characters in real texts; with long metadata, several hundred.
  module_->ReserveNames((scanner_.end() - scanner_.at()) / 80);
  while (!scanner_.AtEnd()) {
    if (!ReadTopLevelComputation()) return false;
  }
  if (module_->Computations().empty()) return scanner_.Fail("a computation");
  if (module_->entry() == nullptr) module_->set_entry(last_computation_);
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

bool ModuleParser::ReadNewName(std::string_view* name, std::string_view expected) {
  scanner_.SkipSpace();
  const char* at = scanner_.at();
  if (!scanner_.Name(name, expected)) return false;
  return *at == '%' || !IsReservedWord(*name) || scanner_.FailAt(at, expected);
}

bool ModuleParser::ReadHeader() {
  std::string_view name;
  if (!ReadNewName(&name, "the name of the module")) return false;
  module_ = std::make_unique<Module>(std::string(name));
  scanner_.Try(':');
  if (!ReadHeaderAttributes(scanner_, &module_->raw_attributes())) return false;
  return ReadTables();
}

bool ModuleParser::ReadTables() {
  scanner_.SkipSpace();
  const char* start = scanner_.at();
  if (!CheckTables(scanner_)) return false;
  const char* end = scanner_.at();
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
  CloseAsyncChains(scope);
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
  if (!ReadNewName(&name, "a computation")) return false;
  if (computations_.contains(name)) {
    return scanner_.FailAt(name_at, "a computation name that is not taken", StrCat("`", name, "` again"));
  }
  bool has_result = false;
  Shape result;
  if (!ReadSignature(&has_result, &result)) return false;
  Computation* computation = module_->AddComputation(name);
  SetPosition(computation->id(), name_at);
  if (!ReadBody(computation, false)) return false;
  computations_[name] = last_computation_ = computation;
  if (is_entry) module_->set_entry(computation);
  if (has_result && !result.SameAs(computation->root()->shape())) {
    return scanner_.FailAt(
        name_at, StrCat("a root of the declared shape ", result.ToString()),
        StrCat(computation->root()->shape().ToString(), ", the shape of root `", computation->root()->name(), "`"));
  }
  return ReadComputationAttributes(scanner_, &computation->raw_attributes());
}

// (x: f32[2], y: s32[]) -> f32[2]
bool ModuleParser::ReadSignature(bool* has_result, Shape* result) {
  if (!scanner_.Try('(')) return true;
  if (!scanner_.Try(')')) {
    do {
      std::string_view name;
      Shape shape;
      if (!scanner_.Name(&name, "the name of a parameter")) return false;
      if (scanner_.Here() == ':') scanner_.Expect(':');
      if (!ParseShape(scanner_, &shape)) return false;
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
  CloseAsyncChains(scope);
  scope_ = outer;
  if (!good) return false;
  if (scope.last == nullptr) return scanner_.Fail("an instruction: a computation cannot be empty");
  if (computation->root() == nullptr) computation->set_root(scope.last);
  return true;
}

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

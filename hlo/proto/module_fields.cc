#include "hlo/proto/module_fields.h"

#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/proto/origin_fields.h"
#include "hlo/proto/shape_fields.h"
#include "hlo/scanner/scanner.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/printer.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::proto {
namespace {

using text::Scanner;

using Indices = google::protobuf::RepeatedField<int64_t>;

bool WriteIndex(Scanner& scanner, Indices* to) {
  std::vector<int64_t> index;
  if (!text::ReadIntegerList(scanner, &index)) return false;
  to->Assign(index.begin(), index.end());
  return true;
}
void AppendIndex(std::string* out, const Indices& index) {
  text::AppendIntegerList(out, std::vector<int64_t>(index.begin(), index.end()));
}

// { {0}: (1, {}, may-alias) }
bool WriteAliases(Scanner& scanner, HloModuleProto* module) {
  if (!scanner.Try('{')) return false;
  HloInputOutputAliasProto* to = module->mutable_input_output_alias();
  if (scanner.Try('}')) return true;
  do {
    HloInputOutputAliasProto::AliasEntryProto* entry = to->add_entries();
    int64_t parameter;
    if (!WriteIndex(scanner, entry->mutable_output_shape_index()) || !scanner.Try(':') || !scanner.Try('(') ||
        !scanner.TryInteger(&parameter) || !scanner.Try(',') ||
        !WriteIndex(scanner, entry->mutable_parameter_shape_index())) {
      return false;
    }
    entry->set_parameter_number(parameter);
    entry->set_kind(MAY_ALIAS);
    if (scanner.Try(',') && scanner.TryWord() == "must-alias") entry->set_kind(MUST_ALIAS);
    if (!scanner.Try(')')) return false;
  } while (scanner.Try(','));
  return scanner.Try('}');
}
absl::Status ReadAliases(const HloModuleProto& from, std::string* out) {
  for (const auto& entry : from.input_output_alias().entries()) {
    *out += out->empty() ? "{ " : ", ";
    AppendIndex(out, entry.output_shape_index());
    StrAppend(out, ": (", entry.parameter_number(), ", ");
    AppendIndex(out, entry.parameter_shape_index());
    *out += entry.kind() == MUST_ALIAS ? ", must-alias)" : ", may-alias)";
  }
  if (!out->empty()) *out += " }";
  return absl::OkStatus();
}

// { (0, {}) }
bool WriteDonors(Scanner& scanner, HloModuleProto* module) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    HloBufferDonorProto::BufferDonorEntryProto* entry = module->mutable_buffer_donor()->add_entries();
    int64_t parameter;
    if (!scanner.Try('(') || !scanner.TryInteger(&parameter) || !scanner.Try(',') ||
        !WriteIndex(scanner, entry->mutable_parameter_shape_index()) || !scanner.Try(')')) {
      return false;
    }
    entry->set_parameter_number(parameter);
  } while (scanner.Try(','));
  return scanner.Try('}');
}
absl::Status ReadDonors(const HloModuleProto& from, std::string* out) {
  for (const auto& entry : from.buffer_donor().entries()) {
    StrAppend(out, out->empty() ? "{ " : ", ", "(", entry.parameter_number(), ", ");
    AppendIndex(out, entry.parameter_shape_index());
    *out += ')';
  }
  if (!out->empty()) *out += " }";
  return absl::OkStatus();
}

// {(f32[2]{0}, s32[])->f32[2]{0}}
bool WriteEntryLayout(Scanner& scanner, HloModuleProto* module) {
  ProgramShapeProto* to = module->mutable_host_program_shape();
  to->clear_parameters();
  Shape shape;
  if (!scanner.Try('{') || !scanner.Try('(')) return false;
  if (!scanner.Try(')')) {
    do {
      Shape parameter;
      if (!text::ParseShape(scanner, &parameter)) return false;
      WriteShape(parameter, to->add_parameters());
    } while (scanner.Try(','));
    if (!scanner.Try(')')) return false;
  }
  if (!scanner.Try(std::string_view("->")) || !text::ParseShape(scanner, &shape)) return false;
  to->clear_result();
  WriteShape(shape, to->mutable_result());
  return scanner.Try('}');
}
absl::Status ReadEntryLayout(const HloModuleProto& from, std::string* out) {
  if (!from.has_host_program_shape()) return absl::OkStatus();
  const ProgramShapeProto& program = from.host_program_shape();
  *out += "{(";
  for (int i = 0; i < program.parameters_size(); ++i) {
    Shape parameter;
    SMELT_RETURN_IF_ERROR(ReadShape(program.parameters(i), &parameter));
    if (i > 0) *out += ", ";
    if (i > 0 && i % 5 == 0) StrAppend(out, "/*index=", i, "*/");
    text::AppendShape(out, parameter, /*with_layout=*/true);
  }
  Shape result;
  SMELT_RETURN_IF_ERROR(ReadShape(program.result(), &result));
  *out += ")->";
  text::AppendShape(out, result, /*with_layout=*/true);
  *out += '}';
  return absl::OkStatus();
}

bool WriteFrontend(Scanner& scanner, HloModuleProto* module) {
  return WriteFrontendAttributes(scanner, module->mutable_frontend_attributes());
}
absl::Status ReadFrontend(const HloModuleProto& from, std::string* out) {
  if (from.frontend_attributes().map_size() > 0) AppendFrontendAttributes(out, from.frontend_attributes());
  return absl::OkStatus();
}

// Written with the computations.
bool WriteScheduled(Scanner& scanner, HloModuleProto* module) {
  if (scanner.TryWord() != "true") return false;
  module->mutable_schedule();
  return true;
}
absl::Status ReadScheduled(const HloModuleProto& from, std::string* out) {
  if (from.has_schedule()) *out = "true";
  return absl::OkStatus();
}

struct HeaderField {
  std::string_view name;
  bool (*write)(Scanner&, HloModuleProto*);
  absl::Status (*read)(const HloModuleProto&, std::string*);
};
constexpr HeaderField kHeaderFields[] = {
    {"is_scheduled", WriteScheduled, ReadScheduled},
    {"input_output_alias", WriteAliases, ReadAliases},
    {"buffer_donor", WriteDonors, ReadDonors},
    {"entry_computation_layout", WriteEntryLayout, ReadEntryLayout},
    {"frontend_attributes", WriteFrontend, ReadFrontend},
};

}  // namespace

std::vector<RawAttribute> PrintedHeader(const Module& module) {
  std::vector<RawAttribute> attributes = module.raw_attributes();
  if (module.entry() == nullptr || module.entry()->root() == nullptr) return attributes;
  for (RawAttribute& attribute : attributes) {
    if (attribute.name == "entry_computation_layout") attribute.value = PrintedEntryLayout(module, attribute.value);
  }
  return attributes;
}

void WriteHeader(const Module& module, HloModuleProto* to) {
  for (const RawAttribute& attribute : PrintedHeader(module)) {
    for (const HeaderField& field : kHeaderFields) {
      if (field.name != attribute.name) continue;
      Scanner scanner(attribute.value, "");
      HloModuleProto one;
      if (field.write(scanner, &one) && scanner.AtEnd()) to->MergeFrom(one);
    }
  }
  if (!to->has_host_program_shape() && module.entry() != nullptr) {
    ProgramShapeProto* program = to->mutable_host_program_shape();
    for (const Instruction* parameter : module.entry()->Parameters()) {
      if (parameter != nullptr) WriteShape(parameter->shape(), program->add_parameters());
    }
    if (module.entry()->root() != nullptr) {
      WriteShape(module.entry()->root()->shape(), program->mutable_result());
    }
  }
  // XLA wants a name for each.
  if (to->has_host_program_shape()) {
    ProgramShapeProto* program = to->mutable_host_program_shape();
    for (int i = 0; i < program->parameters_size(); ++i) program->add_parameter_names(StrCat("p", i));
  }
  StackFrameIndexProto tables;
  if (!module.tables().empty() && WriteTables(module.tables(), &tables)) to->mutable_stack_frame_index()->Swap(&tables);
}

absl::Status ReadHeader(const HloModuleProto& from, std::vector<RawAttribute>* attributes, std::string* tables) {
  for (const HeaderField& field : kHeaderFields) {
    std::string value;
    SMELT_RETURN_IF_ERROR(field.read(from, &value));
    if (!value.empty()) attributes->push_back({std::string(field.name), std::move(value)});
  }
  *tables = TablesText(from.stack_frame_index());
  return absl::OkStatus();
}

void WriteProgramShape(const Computation& computation, ProgramShapeProto* to) {
  for (const Instruction* parameter : computation.Parameters()) {
    if (parameter == nullptr) continue;
    WriteShape(parameter->shape(), to->add_parameters());
    to->add_parameter_names(parameter->name());
  }
  if (computation.root() != nullptr) WriteShape(computation.root()->shape(), to->mutable_result());
}

void WriteThread(const RawAttribute& attribute, HloComputationProto* to) {
  if (attribute.name != "execution_thread") return;
  Scanner scanner(attribute.value, "");
  if (scanner.Peek() != '"' || !text::ReadString(scanner, to->mutable_execution_thread())) to->clear_execution_thread();
}

// XLA's own thread has a name that its texts leave out.
void ReadThread(const HloComputationProto& from, std::vector<RawAttribute>* attributes) {
  if (from.execution_thread().empty() || from.execution_thread() == "main") return;
  std::string value;
  AppendQuoted(&value, from.execution_thread());
  attributes->push_back({"execution_thread", std::move(value)});
}

bool IsHeaderText(const std::string& name, const std::string& value) {
  Scanner word(name, "");
  if (name.empty() || word.TryWord() != name) return false;
  Scanner scanner(value, "");
  return text::CheckHeaderValue(name, scanner) && scanner.at() == scanner.end();
}

bool AreTables(const std::string& tables) {
  Scanner scanner(tables, "");
  return text::CheckTables(scanner) && scanner.AtEnd();
}

}  // namespace smelt::hlo::proto

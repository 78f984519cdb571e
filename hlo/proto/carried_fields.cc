#include "hlo/proto/carried_fields.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/attribute_family.h"
#include "hlo/literal.h"
#include "hlo/proto/device_fields.h"
#include "hlo/proto/literal_fields.h"
#include "hlo/proto/origin_fields.h"
#include "hlo/proto/shape_fields.h"
#include "hlo/proto/typed_fields.h"
#include "hlo/text/attribute_codec.h"
#include "hlo/text/attribute_values.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::proto {
namespace {

using text::Scanner;
using enum Opcode;
using Proto = HloInstructionProto;

// Write returns false where the value does not fit. Read appends the value, or nothing where the attribute is absent.
struct CarriedField {
  std::string_view name;
  std::vector<Opcode> opcodes;  // empty: those that the text's attribute table says
  bool (*write)(Scanner&, Proto*);
  void (*read)(const Proto&, std::string*);
};

bool TryBoolean(Scanner& scanner, bool* value) {
  const std::string_view word = scanner.TryWord();
  *value = word == "true";
  return *value || word == "false";
}

template <auto Get, auto Set>
CarriedField BooleanField(std::string_view name, std::vector<Opcode> opcodes) {
  return {name, std::move(opcodes),
          [](Scanner& scanner, Proto* to) {
            bool value;
            if (!TryBoolean(scanner, &value)) return false;
            (to->*Set)(value);
            return true;
          },
          [](const Proto& from, std::string* out) {
            if ((from.*Get)()) *out = "true";
          }};
}

template <auto Get, auto Set, int64_t kAbsent>
CarriedField IntegerField(std::string_view name, std::vector<Opcode> opcodes) {
  return {name, std::move(opcodes),
          [](Scanner& scanner, Proto* to) {
            int64_t value;
            if (!scanner.TryInteger(&value)) return false;
            (to->*Set)(value);
            return true;
          },
          [](const Proto& from, std::string* out) {
            if ((from.*Get)() != 0 && (from.*Get)() != kAbsent) *out = StrCat((from.*Get)());
          }};
}

template <auto Get, auto Mutable>
CarriedField StringField(std::string_view name, std::vector<Opcode> opcodes) {
  return {name, std::move(opcodes),
          [](Scanner& scanner, Proto* to) { return text::ReadString(scanner, (to->*Mutable)()); },
          [](const Proto& from, std::string* out) {
            if (!(from.*Get)().empty()) AppendQuoted(out, (from.*Get)());
          }};
}

// An enumerator by its name in the proto; the one of number 0 is absence.
template <auto Get, auto Set, const auto& Parse, const auto& Name>
CarriedField EnumeratorField(std::string_view name, std::vector<Opcode> opcodes) {
  return {name, std::move(opcodes),
          [](Scanner& scanner, Proto* to) {
            auto value = (to->*Get)();
            if (!Parse(std::string(scanner.TryWord()), &value)) return false;
            (to->*Set)(value);
            return true;
          },
          [](const Proto& from, std::string* out) {
            if ((from.*Get)() != 0) *out = Name((from.*Get)());
          }};
}

// A message with functions of its own: it is there or not.
template <auto Has, auto Get, auto Mutable, auto Write, auto Append>
CarriedField MessageField(std::string_view name, std::vector<Opcode> opcodes) {
  return {name, std::move(opcodes), [](Scanner& scanner, Proto* to) { return Write(scanner, (to->*Mutable)()); },
          [](const Proto& from, std::string* out) {
            if ((from.*Has)()) Append(out, (from.*Get)());
          }};
}

// Wrapper of AppendSharding for the table.
void AppendWholeSharding(std::string* out, const OpSharding& from) { AppendSharding(out, from); }

// Fields that XLA writes even when there is nothing in them.
void AppendMetadataIfAny(std::string* out, const OpMetadata& from) {
  AppendMetadata(out, from);
  if (*out == "{}") out->clear();
}
void AppendFrontendIfAny(std::string* out, const FrontendAttributes& from) {
  if (from.map_size() > 0) AppendFrontendAttributes(out, from);
}
void AppendStatisticsIfAny(std::string* out, const StatisticsViz& from) {
  if (from.statistics_size() > 0) AppendStatistics(out, from);
}

void AppendList(std::string* out, const google::protobuf::RepeatedField<int64_t>& values) {
  text::AppendIntegerList(out, std::vector<int64_t>(values.begin(), values.end()));
}

bool WriteBooleans(Scanner& scanner, ParameterReplication* to) {
  bool value;
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (!TryBoolean(scanner, &value)) return false;
    to->add_replicated_at_leaf_buffers(value);
  } while (scanner.Try(','));
  return scanner.Try('}');
}
void AppendBooleans(std::string* out, const ParameterReplication& from) {
  *out += '{';
  for (bool value : from.replicated_at_leaf_buffers()) {
    StrAppend(out, out->back() == '{' ? "" : ",", value ? "true" : "false");
  }
  *out += '}';
}

bool TryDouble(Scanner& scanner, double* value) {
  const char* start = (scanner.SkipSpace(), scanner.at());
  const auto result = std::from_chars(start, scanner.end(), *value);
  scanner.set_at(result.ptr);
  return result.ec == std::errc();
}

// {mode=highest}, {tolerance={atol=1,rtol=0.5,ulps=2}}
bool WriteAccuracy(Scanner& scanner, ResultAccuracy* to) {
  if (!scanner.Try('{')) return false;
  const std::string_view kind = scanner.TryWord();
  if (!scanner.Try('=')) return false;
  if (kind == "mode") {
    ResultAccuracy::Mode mode;
    if (!ResultAccuracy::Mode_Parse(absl::AsciiStrToUpper(std::string(scanner.TryWord())), &mode)) return false;
    to->set_mode(mode);
    return scanner.Try('}');
  }
  if (kind != "tolerance" || !scanner.Try('{')) return false;
  do {
    const std::string_view name = scanner.TryWord();
    double value;
    if (!scanner.Try('=') || !TryDouble(scanner, &value)) return false;
    if (name == "atol") {
      to->mutable_tolerance()->set_atol(value);
    } else if (name == "rtol") {
      to->mutable_tolerance()->set_rtol(value);
    } else if (name == "ulps") {
      to->mutable_tolerance()->set_ulps(static_cast<int64_t>(std::clamp(value, -1e15, 1e15)));
    } else {
      return false;
    }
  } while (scanner.Try(','));
  return scanner.Try('}') && scanner.Try('}');
}
void AppendNumber(std::string* out, double value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out->append(buffer, result.ptr - buffer);
}
void AppendAccuracy(std::string* out, const ResultAccuracy& from) {
  if (from.has_tolerance()) {
    *out += "{tolerance={atol=";
    AppendNumber(out, from.tolerance().atol());
    *out += ",rtol=";
    AppendNumber(out, from.tolerance().rtol());
    StrAppend(out, ",ulps=", from.tolerance().ulps(), "}}");
  } else if (from.mode() == ResultAccuracy::HIGHEST) {
    *out += "{mode=highest}";
  }
}

// {{0}: (1, {}), {}: (0, {0})}
bool WriteOutputAliasing(Scanner& scanner, Proto* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    OutputOperandAliasing* alias = to->add_output_operand_aliasing();
    std::vector<int64_t> output, operand;
    int64_t index;
    if (!text::ReadIntegerList(scanner, &output) || !scanner.Try(':') || !scanner.Try('(') ||
        !scanner.TryInteger(&index) || !scanner.Try(',') || !text::ReadIntegerList(scanner, &operand) ||
        !scanner.Try(')')) {
      return false;
    }
    alias->mutable_output_shape_index()->Assign(output.begin(), output.end());
    alias->set_operand_index(index);
    alias->mutable_operand_shape_index()->Assign(operand.begin(), operand.end());
  } while (scanner.Try(','));
  return scanner.Try('}');
}
void AppendOutputAliasing(const Proto& from, std::string* out) {
  for (const OutputOperandAliasing& alias : from.output_operand_aliasing()) {
    *out += out->empty() ? "{" : ", ";
    AppendList(out, alias.output_shape_index());
    StrAppend(out, ": (", alias.operand_index(), ", ");
    AppendList(out, alias.operand_shape_index());
    *out += ')';
  }
  if (!out->empty()) *out += '}';
}

// {{0,1},{1,0}}
bool WritePairs(Scanner& scanner, Proto* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    std::vector<int64_t> pair;
    if (!text::ReadIntegerList(scanner, &pair) || pair.size() != 2) return false;
    SourceTarget* one = to->add_source_target_pairs();
    one->set_source(pair[0]);
    one->set_target(pair[1]);
  } while (scanner.Try(','));
  return scanner.Try('}');
}
void AppendPairs(const Proto& from, std::string* out) {
  *out += '{';
  for (const SourceTarget& pair : from.source_target_pairs()) {
    StrAppend(out, out->size() > 1 ? ",{" : "{", pair.source(), ",", pair.target(), "}");
  }
  *out += '}';
}

// {kind="sharding", entry={...}, exit={...}}. The text calls entry what the proto calls exit: the side of the users.
// A side without a sharding is `{}` in the text and absent in the proto.
template <auto Mutable>
bool WriteDomainSide(Scanner& scanner, Proto* to) {
  return scanner.Try(std::string_view("{}")) || WriteSharding(scanner, (to->*Mutable)());
}
bool WriteDomain(Scanner& scanner, Proto* to) {
  std::string kind;
  return scanner.Try('{') && scanner.TryWord() == "kind" && scanner.Try('=') && text::ReadString(scanner, &kind) &&
         kind == "sharding" && scanner.Try(',') && scanner.TryWord() == "entry" && scanner.Try('=') &&
         WriteDomainSide<&Proto::mutable_domain_exit_sharding>(scanner, to) && scanner.Try(',') &&
         scanner.TryWord() == "exit" && scanner.Try('=') &&
         WriteDomainSide<&Proto::mutable_domain_entry_sharding>(scanner, to) && scanner.Try('}');
}
void AppendDomain(const Proto& from, std::string* out) {
  const auto side = [&](bool given, const OpSharding& sharding) {
    if (given) {
      AppendSharding(out, sharding);
    } else {
      *out += "{}";
    }
  };
  *out += "{kind=\"sharding\", entry=";
  side(from.has_domain_exit_sharding(), from.domain_exit_sharding());
  *out += ", exit=";
  side(from.has_domain_entry_sharding(), from.domain_entry_sharding());
  *out += '}';
}

// {high,default}
bool WritePrecision(Scanner& scanner, Proto* to) {
  if (!scanner.Try('{')) return false;
  to->mutable_precision_config()->clear_operand_precision();
  do {
    PrecisionConfig::Precision precision;
    if (!PrecisionConfig::Precision_Parse(absl::AsciiStrToUpper(std::string(scanner.TryWord())), &precision))
      return false;
    to->mutable_precision_config()->add_operand_precision(precision);
  } while (scanner.Try(','));
  return scanner.Try('}');
}
void AppendPrecision(const Proto& from, std::string* out) {
  const auto& precisions = from.precision_config().operand_precision();
  if (std::all_of(precisions.begin(), precisions.end(), [](int p) { return p == PrecisionConfig::DEFAULT; })) return;
  *out += '{';
  for (int i = 0; i < precisions.size(); ++i) {
    const auto precision = from.precision_config().operand_precision(i);
    StrAppend(out, i > 0 ? "," : "", absl::AsciiStrToLower(PrecisionConfig::Precision_Name(precision)));
  }
  *out += '}';
}

// dot_bf16_bf16_f32
bool WriteAlgorithm(Scanner& scanner, Proto* to) {
  PrecisionConfig::Algorithm algorithm;
  const std::string name = "ALG_" + absl::AsciiStrToUpper(std::string(scanner.TryWord()));
  if (!PrecisionConfig::Algorithm_Parse(name, &algorithm)) return false;
  to->mutable_precision_config()->set_algorithm(algorithm);
  return true;
}
void AppendAlgorithm(const Proto& from, std::string* out) {
  const auto algorithm = from.precision_config().algorithm();
  if (algorithm == PrecisionConfig::ALG_UNSET) return;
  const std::string name = PrecisionConfig::Algorithm_Name(algorithm);
  if (name.starts_with("ALG_")) *out = absl::AsciiStrToLower(name.substr(4));
}

constexpr std::string_view kConvolutionKind = "CONVOLUTION_KIND_";
bool WriteConvolutionKind(Scanner& scanner, Proto* to) {
  ConvolutionKind kind;
  const std::string name = StrCat(kConvolutionKind, absl::AsciiStrToUpper(std::string(scanner.TryWord())));
  if (!ConvolutionKind_Parse(name, &kind)) return false;
  to->set_conv_kind(kind);
  return true;
}
void AppendConvolutionKind(const Proto& from, std::string* out) {
  const std::string name = ConvolutionKind_Name(from.conv_kind());
  if (from.conv_kind() == CONVOLUTION_KIND_UNSET || !name.starts_with(kConvolutionKind)) return;
  *out = absl::AsciiStrToLower(name.substr(kConvolutionKind.size()));
}

bool WriteLayoutConstraints(Scanner& scanner, Proto* to) {
  to->set_constrain_layout(true);
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    Shape shape;
    if (!text::ParseShape(scanner, &shape)) return false;
    WriteShape(shape, to->add_operand_shapes_with_layout());
  } while (scanner.Try(','));
  return scanner.Try('}');
}
void AppendLayoutConstraints(const Proto& from, std::string* out) {
  if (!from.constrain_layout()) return;
  *out += '{';
  for (const ShapeProto& one : from.operand_shapes_with_layout()) {
    Shape shape;
    if (out->size() > 1) *out += ", ";
    if (ReadShape(one, &shape).ok()) text::AppendShape(out, shape, /*with_layout=*/true);
  }
  *out += '}';
}

bool WriteOutfeedShape(Scanner& scanner, Proto* to) {
  Shape shape;
  if (!text::ParseShape(scanner, &shape)) return false;
  WriteShape(shape, to->mutable_outfeed_shape());
  return true;
}
void AppendOutfeedShape(const Proto& from, std::string* out) {
  Shape shape;
  if (from.has_outfeed_shape() && ReadShape(from.outfeed_shape(), &shape).ok()) {
    text::AppendShape(out, shape, /*with_layout=*/true);
  }
}

// s32[2]{0} {1, 2}
// s32[2]{0} {1, 2}, or for a tuple ( s32[2]{0} {1, 2}, pred[] true ).
bool ReadCustomLiteral(Scanner& scanner, Shape* shape, Literal* literal) {
  if (scanner.Try('(')) {
    std::vector<Literal> elements;
    *shape = Shape::Tuple({});
    while (!scanner.Try(')')) {
      if (scanner.Peek() == '(' || (!elements.empty() && !scanner.Try(','))) return false;  // XLA's have one level
      Shape element;
      Literal value;
      if (!ReadCustomLiteral(scanner, &element, &value)) return false;
      shape->tuple_shapes.push_back(std::move(element));
      elements.push_back(std::move(value));
    }
    *literal = Literal::Tuple(std::move(elements));
    return true;
  }
  text::ConstantFill fill;
  bool elided = false;
  return text::ParseShape(scanner, shape) && text::ParseLiteral(scanner, *shape, fill, literal, &elided) && !elided;
}
bool WriteCustomLiteral(Scanner& scanner, Proto* to) {
  Shape shape;
  Literal literal;
  if (!ReadCustomLiteral(scanner, &shape, &literal)) return false;
  WriteLiteral(literal, shape, to->mutable_literal());
  return true;
}
void AppendCustomLiteral(const Shape& shape, const Literal& literal, std::string* out) {
  if (shape.IsTuple()) {
    *out += "( ";
    for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
      if (i > 0) *out += ", ";
      AppendCustomLiteral(shape.tuple_shapes[i], literal.elements()[i], out);
    }
    *out += shape.tuple_shapes.empty() ? ")" : " )";
    return;
  }
  text::AppendShape(out, shape, /*with_layout=*/true);
  *out += ' ';
  const size_t start = out->size();
  text::AppendLiteral(out, literal);
  if (shape.element_type == smelt::hlo::PrimitiveType::kPred &&
      shape.rank() > 0) {  // XLA's spelling, kept as written in a text
    const std::string values = absl::StrReplaceAll(out->substr(start), {{"true", "1"}, {"false", "0"}});
    out->replace(start, std::string::npos, values);
  }
}
void AppendCustomLiteral(const Proto& from, std::string* out) {
  Shape shape;
  if (!from.has_literal() || !ReadShape(from.literal().shape(), &shape).ok()) return;
  const absl::StatusOr<Literal> literal = ReadLiteral(from.literal(), shape);
  if (literal.ok()) AppendCustomLiteral(shape, *literal, out);
}

bool WriteCustomWindow(Scanner& scanner, Proto* to) {
  smelt::hlo::Window window;
  if (!text::ReadWindow(scanner, &window)) return false;
  WriteWindow(window, to->mutable_window());
  return true;
}
void AppendCustomWindow(const Proto& from, std::string* out) {
  if (from.has_window() && from.window().dimensions_size() > 0) text::AppendWindow(out, ReadWindow(from.window()));
}
bool WriteCustomLabels(Scanner& scanner, Proto* to) {
  ConvolutionDimensions dimensions;
  if (!text::ReadCustomDimensionLabels(scanner, &dimensions)) return false;
  WriteConvolutionDimensions(dimensions, to->mutable_convolution_dimension_numbers());
  return true;
}
void AppendCustomLabels(const Proto& from, std::string* out) {
  if (!from.has_convolution_dimension_numbers()) return;
  text::AppendDimensionLabels(out, ReadConvolutionDimensions(from.convolution_dimension_numbers()));
}

bool WriteBackendConfig(Scanner& scanner, Proto* to) {
  if (scanner.Peek() != '{') return text::ReadString(scanner, to->mutable_backend_config());
  const char* start = scanner.at();
  if (!text::CheckBraces(scanner)) return false;
  to->set_backend_config(std::string(scanner.From(start)));
  return true;
}
void AppendBackendConfig(const Proto& from, std::string* out) {
  if (from.backend_config().empty()) return;
  if (StandsWithoutQuotes(from.backend_config())) {
    *out = from.backend_config();
  } else {
    AppendQuoted(out, from.backend_config());
  }
}

// XLA prints no version for the original one.
bool WriteApiVersion(Scanner& scanner, Proto* to) {
  CustomCallApiVersion version;
  if (!CustomCallApiVersion_Parse(std::string(scanner.TryWord()), &version)) return false;
  to->set_custom_call_api_version(version);
  return true;
}
void AppendApiVersion(const Proto& from, std::string* out) {
  if (from.custom_call_api_version() > API_VERSION_ORIGINAL) {
    *out = CustomCallApiVersion_Name(from.custom_call_api_version());
  }
}

bool WritePrefetchIndex(Scanner& scanner, Proto* to) {
  int64_t index;
  if (!scanner.TryInteger(&index) || index < INT32_MIN || index > INT32_MAX) return false;
  to->set_cross_program_prefetch_index(static_cast<int32_t>(index));
  to->set_is_cross_program_prefetch(true);
  return true;
}
void AppendPrefetchIndex(const Proto& from, std::string* out) {
  if (from.has_cross_program_prefetch_index()) *out = StrCat(from.cross_program_prefetch_index());
}

// The dimension of a reshape is which one was inferred.
bool WriteInferredDimension(Scanner& scanner, Proto* to) {
  int64_t dimension;
  if (!scanner.TryInteger(&dimension)) return false;
  to->add_dimensions(dimension);
  return true;
}
void AppendInferredDimension(const Proto& from, std::string* out) {
  if (from.dimensions_size() > 0 && from.dimensions(0) >= 0) *out = StrCat(from.dimensions(0));
}

const std::vector<Opcode> kTransfers = {kSend, kSendDone, kRecv, kRecvDone};
const std::vector<Opcode> kContractions = {kConvolution, kDot, kRaggedDot, kScaledDot};

const std::vector<CarriedField>& Table() {
  static const auto& table = *new std::vector<CarriedField>{
      {"window", {kCustomCall}, WriteCustomWindow, AppendCustomWindow},
      {"dim_labels", {kCustomCall}, WriteCustomLabels, AppendCustomLabels},
      IntegerField<&Proto::feature_group_count, &Proto::set_feature_group_count, 1>("feature_group_count",
                                                                                    {kCustomCall}),
      IntegerField<&Proto::batch_group_count, &Proto::set_batch_group_count, 1>("batch_group_count", {kCustomCall}),
      IntegerField<&Proto::channel_id, &Proto::set_channel_id, 0>("channel_id", kTransfers),
      BooleanField<&Proto::is_host_transfer, &Proto::set_is_host_transfer>("is_host_transfer", {}),
      BooleanField<&Proto::constrain_layout, &Proto::set_constrain_layout>("constrain_layout", {}),
      BooleanField<&Proto::use_global_device_ids, &Proto::set_use_global_device_ids>("use_global_device_ids", {}),
      {"source_target_pairs", {}, WritePairs, AppendPairs},
      StringField<&Proto::async_execution_thread,
                  static_cast<std::string* (Proto::*)()>(&Proto::mutable_async_execution_thread)>(
          "async_execution_thread", {}),
      {"output_to_operand_aliasing", {}, WriteOutputAliasing, AppendOutputAliasing},
      BooleanField<&Proto::is_composite, &Proto::set_is_composite>("is_composite", {}),
      {"cross_program_prefetch_index", {}, WritePrefetchIndex, AppendPrefetchIndex},
      {"domain", {}, WriteDomain, AppendDomain},
      StringField<&Proto::infeed_config, static_cast<std::string* (Proto::*)()>(&Proto::mutable_infeed_config)>(
          "infeed_config", {}),
      {"outfeed_shape", {}, WriteOutfeedShape, AppendOutfeedShape},
      StringField<&Proto::outfeed_config, static_cast<std::string* (Proto::*)()>(&Proto::mutable_outfeed_config)>(
          "outfeed_config", {}),
      {"inferred_dimension", {}, WriteInferredDimension, AppendInferredDimension},
      {"operand_precision", {}, WritePrecision, AppendPrecision},
      {"algorithm", {kConvolution, kDot, kScaledDot}, WriteAlgorithm, AppendAlgorithm},
      {"convolution_kind", {}, WriteConvolutionKind, AppendConvolutionKind},
      {"operand_layout_constraints", {}, WriteLayoutConstraints, AppendLayoutConstraints},
      EnumeratorField<&Proto::padding_type, &Proto::set_padding_type, PaddingType_Parse, PaddingType_Name<PaddingType>>(
          "padding_type", {}),
      {"literal", {}, WriteCustomLiteral, AppendCustomLiteral},
      EnumeratorField<&Proto::custom_call_schedule, &Proto::set_custom_call_schedule, CustomCallSchedule_Parse,
                      CustomCallSchedule_Name<CustomCallSchedule>>("schedule", {}),
      {"api_version", {}, WriteApiVersion, AppendApiVersion},
      MessageField<&Proto::has_parameter_replication, &Proto::parameter_replication,
                   &Proto::mutable_parameter_replication, WriteBooleans, AppendBooleans>("parameter_replication", {}),
      MessageField<&Proto::has_sharding, &Proto::sharding, &Proto::mutable_sharding, WriteSharding,
                   AppendWholeSharding>("sharding", {}),
      MessageField<&Proto::has_frontend_attributes, &Proto::frontend_attributes, &Proto::mutable_frontend_attributes,
                   WriteFrontendAttributes, AppendFrontendIfAny>("frontend_attributes", {}),
      MessageField<&Proto::has_result_accuracy, &Proto::result_accuracy, &Proto::mutable_result_accuracy, WriteAccuracy,
                   AppendAccuracy>("result_accuracy", {}),
      MessageField<&Proto::has_statistics_viz, &Proto::statistics_viz, &Proto::mutable_statistics_viz, WriteStatistics,
                   AppendStatisticsIfAny>("statistics", {}),
      MessageField<&Proto::has_original_value, &Proto::original_value, &Proto::mutable_original_value,
                   WriteOriginalValue, AppendOriginalValue>("origin", {}),
      MessageField<&Proto::has_metadata, &Proto::metadata, &Proto::mutable_metadata, WriteMetadata,
                   AppendMetadataIfAny>("metadata", {}),
      {"backend_config", {}, WriteBackendConfig, AppendBackendConfig},
  };
  return table;
}

bool Takes(const CarriedField& field, Opcode opcode) {
  if (!field.opcodes.empty()) return absl::c_linear_search(field.opcodes, opcode);
  const auto has_name = [&](const text::AttributeRule& rule) { return rule.name == field.name; };
  return absl::c_any_of(text::CommonAttributeRules(), has_name) ||
         absl::c_any_of(text::AttributeRules(opcode), has_name);
}

const std::vector<const CarriedField*>& FieldsOf(Opcode opcode) {
  static const auto& by_opcode = *[] {
    auto* made = new std::vector<std::vector<const CarriedField*>>(kOpcodeCount);
    for (int i = 0; i < kOpcodeCount; ++i) {
      for (const CarriedField& field : Table()) {
        if (Takes(field, static_cast<Opcode>(i))) (*made)[i].push_back(&field);
      }
    }
    return made;
  }();
  return by_opcode[static_cast<int>(opcode)];
}

// XLA has these in every proto of the opcode; a text leaves them out where they say nothing.
void WriteDefaults(const Instruction& instruction, Proto* to) {
  const Opcode opcode = instruction.opcode();
  if (absl::c_linear_search(kContractions, opcode) || opcode == kCustomCall) {
    PrecisionConfig* config = to->mutable_precision_config();
    for (int64_t i = 0; i < instruction.operand_count(); ++i) config->add_operand_precision(PrecisionConfig::DEFAULT);
  }
  if (opcode == kCustomCall) {
    to->set_feature_group_count(1);
    to->set_batch_group_count(1);
    to->set_custom_call_api_version(API_VERSION_ORIGINAL);
  }
}

class NoHost : public text::AttributeHost {
 public:
  bool ReadComputation(std::string_view, Computation**) override { return false; }
  bool ReadInstructionName(Instruction**) override { return false; }
};

}  // namespace

void WriteCarried(const Instruction& instruction, HloInstructionProto* to) {
  WriteDefaults(instruction, to);
  for (const RawAttribute& attribute : instruction.raw_attributes()) {
    for (const CarriedField* field : FieldsOf(instruction.opcode())) {
      if (field->name != attribute.name) continue;
      Scanner scanner(attribute.value, "");
      Proto one;
      if (!field->write(scanner, &one) || !scanner.AtEnd()) continue;
      // What the defaults put there gives way.
      if (one.precision_config().operand_precision_size() > 0)
        to->mutable_precision_config()->clear_operand_precision();
      to->MergeFrom(one);
    }
  }
}

absl::Status ReadCarried(const HloInstructionProto& from, Opcode opcode, const HloModuleProto& module,
                         std::vector<RawAttribute>* attributes) {
  const auto append = [&](const CarriedField& field, const Proto& proto) {
    std::string value;
    field.read(proto, &value);
    if (!value.empty()) attributes->push_back({std::string(field.name), std::move(value)});
  };
  for (const CarriedField* field : FieldsOf(opcode)) {
    if (field->name != "backend_config" || !from.has_backend_config_payload()) {
      append(*field, from);
      continue;
    }
    Proto resolved;
    const Payload& payload = from.backend_config_payload();
    if (payload.has_value()) {
      resolved.set_backend_config(payload.value());
    } else if (payload.id() >= 0 && payload.id() < module.payloads_size()) {
      resolved.set_backend_config(module.payloads(static_cast<int>(payload.id())));
    } else {
      return absl::InvalidArgumentError(StrCat("backend configuration is payload ", payload.id(),
                                               ", but the module has ", module.payloads_size(), " payloads"));
    }
    append(*field, resolved);
  }
  return absl::OkStatus();
}

bool IsAttributeText(Opcode opcode, const std::string& name, const std::string& value) {
  Scanner word(name, "");
  if (name.empty() || word.TryWord() != name) return false;
  Scanner scanner(value, "");
  bool (*check)(Scanner&) = text::CheckAnything;
  for (const auto& rules : {text::AttributeRules(opcode), text::CommonAttributeRules()}) {
    for (const text::AttributeRule& rule : rules) {
      if (rule.name != name) continue;
      text::InstructionDraft draft;
      draft.opcode = opcode;
      draft.attributes = EmptyAttributes(opcode);
      NoHost host;
      text::AttributeReader reader{scanner, draft, host, name};
      return rule.read(reader) && scanner.at() == scanner.end();
    }
  }
  return !text::IsKnownAttribute(name) && check(scanner) && scanner.at() == scanner.end();
}

}  // namespace smelt::hlo::proto

#include "hlo/proto/origin_fields.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/str_cat.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::proto {
namespace {

using text::Scanner;

using Bytes = std::string;
struct MetadataText {
  std::string_view name;
  const Bytes& (OpMetadata::*get)() const;
  Bytes* (OpMetadata::*mutable_get)();
};
struct MetadataNumber {
  std::string_view name;
  int32_t (OpMetadata::*get)() const;
  void (OpMetadata::*set)(int32_t);
};

using M = OpMetadata;
constexpr MetadataText kTypeAndName[] = {{"op_type", &M::op_type, &M::mutable_op_type},
                                         {"op_name", &M::op_name, &M::mutable_op_name},
                                         {"source_file", &M::source_file, &M::mutable_source_file}};
constexpr MetadataNumber kLines[] = {{"source_line", &M::source_line, &M::set_source_line},
                                     {"source_end_line", &M::source_end_line, &M::set_source_end_line},
                                     {"source_column", &M::source_column, &M::set_source_column},
                                     {"source_end_column", &M::source_end_column, &M::set_source_end_column}};
constexpr MetadataText kLaterNames[] = {{"deduplicated_name", &M::deduplicated_name, &M::mutable_deduplicated_name},
                                        {"scheduling_name", &M::scheduling_name, &M::mutable_scheduling_name}};
constexpr MetadataNumber kFrame[] = {{"stack_frame_id", &M::stack_frame_id, &M::set_stack_frame_id}};

bool ReadInt32(Scanner& scanner, int32_t* value) {
  int64_t wide;
  if (!scanner.TryInteger(&wide) || wide < INT32_MIN || wide > INT32_MAX) return false;
  *value = static_cast<int32_t>(wide);
  return true;
}

bool ReadDouble(Scanner& scanner, double* value) {
  const char* start = (scanner.SkipSpace(), scanner.at());
  const auto result = std::from_chars(start, scanner.end(), *value);
  if (result.ec != std::errc()) return false;
  scanner.set_at(result.ptr);
  return true;
}

void AppendDouble(std::string* out, double value) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out->append(buffer, result.ptr - buffer);
}

bool ReadQuoted(Scanner& scanner, std::string* content) {
  return scanner.Peek() == '"' && text::ReadString(scanner, content);
}

bool WriteMetadataField(std::string_view name, Scanner& scanner, OpMetadata* to) {
  for (const auto& table : {absl::MakeConstSpan(kTypeAndName), absl::MakeConstSpan(kLaterNames)}) {
    for (const MetadataText& field : table) {
      if (field.name == name) return ReadQuoted(scanner, (to->*field.mutable_get)());
    }
  }
  for (const auto& table : {absl::MakeConstSpan(kLines), absl::MakeConstSpan(kFrame)}) {
    for (const MetadataNumber& field : table) {
      int32_t value;
      if (field.name != name) continue;
      if (!ReadInt32(scanner, &value)) return false;
      (to->*field.set)(value);
      return true;
    }
  }
  if (name != "profile_type") return false;
  if (!scanner.Try('{')) return false;
  do {
    int32_t type;
    if (!ReadInt32(scanner, &type)) return false;
    to->add_profile_type(static_cast<ProfileType>(type));
  } while (scanner.Try(','));
  return scanner.Try('}');
}

}  // namespace

void AppendQuoted(std::string* out, const std::string& content) { StrAppend(out, "\"", absl::CEscape(content), "\""); }

bool StandsWithoutQuotes(std::string_view content) {
  Scanner scanner(content, "");
  // Nothing may stand before or behind the braces, white space included: a reader would not give it back.
  return !content.empty() && content[0] == '{' && text::CheckBraces(scanner) && scanner.at() == scanner.end();
}

bool WriteMetadata(Scanner& scanner, OpMetadata* to) {
  if (!scanner.Try('{')) return false;
  while (!scanner.Try('}')) {
    scanner.Try(',');
    const std::string_view name = scanner.TryWord();
    if (name.empty() || !scanner.Try('=') || !WriteMetadataField(name, scanner, to)) return false;
  }
  return true;
}

void AppendMetadata(std::string* out, const OpMetadata& from) {
  *out += '{';
  const auto name = [&](std::string_view field) { StrAppend(out, out->back() == '{' ? "" : " ", field, "="); };
  const auto texts = [&](absl::Span<const MetadataText> table) {
    for (const MetadataText& field : table) {
      const std::string& value = (from.*field.get)();
      if (value.empty()) continue;
      name(field.name);
      AppendQuoted(out, value);
    }
  };
  const auto numbers = [&](absl::Span<const MetadataNumber> table) {
    for (const MetadataNumber& field : table) {
      const int32_t value = (from.*field.get)();
      if (value == 0) continue;
      name(field.name);
      StrAppend(out, value);
    }
  };
  texts(kTypeAndName);
  numbers(kLines);
  if (from.profile_type_size() > 0) {
    name("profile_type");
    *out += '{';
    for (int i = 0; i < from.profile_type_size(); ++i) {
      StrAppend(out, i > 0 ? "," : "", static_cast<int>(from.profile_type(i)));
    }
    *out += '}';
  }
  texts(kLaterNames);
  numbers(kFrame);
  *out += '}';
}

bool WriteMetadataList(Scanner& scanner, MetadataList* to) {
  const char* start = scanner.at();
  if (!scanner.Try('{')) return false;
  if (scanner.Peek() != '{') {
    scanner.set_at(start);
    return WriteMetadata(scanner, to->Add());
  }
  do {
    if (!WriteMetadata(scanner, to->Add())) return false;
  } while (scanner.Try(','));
  return scanner.Try('}');
}

void AppendMetadataList(std::string* out, const MetadataList& from) {
  if (from.size() == 1) return AppendMetadata(out, from.Get(0));
  *out += '{';
  for (int i = 0; i < from.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendMetadata(out, from.Get(i));
  }
  *out += '}';
}

bool WriteFrontendAttributes(Scanner& scanner, FrontendAttributes* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    FrontendAttributes::MapEntry* entry = to->add_map();
    const std::string_view key = scanner.TryWord();
    if (key.empty() || !scanner.Try('=')) return false;
    entry->set_key(std::string(key));
    if (scanner.Peek() == '{') {
      const char* start = scanner.at();
      if (!text::CheckBraces(scanner)) return false;
      entry->set_value(std::string(scanner.From(start)));
    } else if (!ReadQuoted(scanner, entry->mutable_value())) {
      return false;
    }
  } while (scanner.Try(','));
  return scanner.Try('}');
}

void AppendFrontendAttributes(std::string* out, const FrontendAttributes& from) {
  *out += '{';
  for (const FrontendAttributes::MapEntry& entry : from.map()) {
    StrAppend(out, out->back() == '{' ? "" : ",", entry.key(), "=");
    if (StandsWithoutQuotes(entry.value())) {
      *out += entry.value();
    } else {
      AppendQuoted(out, entry.value());
    }
  }
  *out += '}';
}

bool WriteStatistics(Scanner& scanner, StatisticsViz* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    const std::string_view name = scanner.TryWord();
    if (name.empty() || !scanner.Try('=')) return false;
    if (name == "visualizing_index") {
      int64_t index;
      if (!scanner.TryInteger(&index)) return false;
      to->set_stat_index_to_visualize(index);
      continue;
    }
    double value;
    if (!ReadDouble(scanner, &value)) return false;
    Statistic* statistic = to->add_statistics();
    statistic->set_stat_name(std::string(name));
    statistic->set_stat_val(value);
  } while (scanner.Try(','));
  return scanner.Try('}');
}

void AppendStatistics(std::string* out, const StatisticsViz& from) {
  StrAppend(out, "{visualizing_index=", from.stat_index_to_visualize());
  for (const Statistic& statistic : from.statistics()) {
    StrAppend(out, ",", statistic.stat_name(), "=");
    AppendDouble(out, statistic.stat_val());
  }
  *out += '}';
}

namespace {

// A tree of leaves {"name" {index}}; `index` is the path to where the scanner stands.
bool WriteOriginalTree(Scanner& scanner, std::vector<int64_t>* index, OriginalValueProto* to) {
  if (index->size() > text::kNestingLimit) return false;
  if (scanner.Try('(')) {
    if (scanner.Try(')')) return true;
    index->push_back(0);
    do {
      if (!WriteOriginalTree(scanner, index, to)) return false;
      ++index->back();
    } while (scanner.Try(','));
    index->pop_back();
    return scanner.Try(')');
  }
  if (!scanner.Try('{')) return false;
  OriginalValueElementProto* element = to->add_elements();
  element->mutable_shape_index()->Assign(index->begin(), index->end());
  if (scanner.Try('}')) return true;
  OriginalArrayProto* array = element->mutable_original_array();
  if (!ReadQuoted(scanner, array->mutable_instruction_name())) return false;
  if (scanner.Peek() == '{') {
    std::vector<int64_t> place;
    if (!text::ReadIntegerList(scanner, &place)) return false;
    array->mutable_shape_index()->Assign(place.begin(), place.end());
  }
  return scanner.Try('}');
}

using Elements = std::vector<const OriginalValueElementProto*>;

// The elements from `begin` to `end` share the first `depth` numbers of their index and are sorted by the rest.
void AppendOriginalTree(std::string* out, const Elements& elements, size_t begin, size_t end, int depth) {
  const OriginalValueElementProto& first = *elements[begin];
  if (depth > text::kNestingLimit || first.shape_index_size() <= depth) {
    *out += '{';
    if (first.has_original_array()) {
      AppendQuoted(out, first.original_array().instruction_name());
      const auto& place = first.original_array().shape_index();
      for (int i = 0; i < place.size(); ++i) StrAppend(out, i > 0 ? "," : " {", place.Get(i));
      if (!place.empty()) *out += '}';
    }
    *out += '}';
    return;
  }
  *out += '(';
  while (begin < end) {
    if (out->back() != '(') *out += ", ";
    size_t next = begin + 1;
    const int64_t branch = elements[begin]->shape_index(depth);
    while (next < end && elements[next]->shape_index_size() > depth && elements[next]->shape_index(depth) == branch)
      ++next;
    AppendOriginalTree(out, elements, begin, next, depth + 1);
    begin = next;
  }
  *out += ')';
}

}  // namespace

bool WriteOriginalValue(Scanner& scanner, OriginalValueProto* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('[')) {
    if (!scanner.Try(std::string_view("synthetic_call")) || !scanner.Try(']')) return false;
    to->set_is_synthetic_call(true);
    return scanner.Try('}');
  }
  std::vector<int64_t> index;
  return WriteOriginalTree(scanner, &index, to) && scanner.Try('}');
}

void AppendOriginalValue(std::string* out, const OriginalValueProto& from) {
  if (from.is_synthetic_call()) {
    *out += "{[synthetic_call]}";
    return;
  }
  Elements elements;
  for (const OriginalValueElementProto& element : from.elements()) elements.push_back(&element);
  std::sort(elements.begin(), elements.end(), [](const auto* a, const auto* b) {
    return std::lexicographical_compare(a->shape_index().begin(), a->shape_index().end(), b->shape_index().begin(),
                                        b->shape_index().end());
  });
  *out += '{';
  if (!elements.empty()) AppendOriginalTree(out, elements, 0, elements.size(), 0);
  *out += '}';
}

namespace {

using Location = StackFrameIndexProto::FileLocation;
using Frame = StackFrameIndexProto::StackFrame;

template <typename Message>
struct NumberedField {
  std::string_view name;
  int32_t (Message::*get)() const;
  void (Message::*set)(int32_t);
};
constexpr NumberedField<Location> kLocationFields[] = {
    {"file_name_id", &Location::file_name_id, &Location::set_file_name_id},
    {"function_name_id", &Location::function_name_id, &Location::set_function_name_id},
    {"line", &Location::line, &Location::set_line},
    {"end_line", &Location::end_line, &Location::set_end_line},
    {"column", &Location::column, &Location::set_column},
    {"end_column", &Location::end_column, &Location::set_end_column}};

template <typename Message, size_t count>
bool WriteNumbers(Scanner& scanner, const NumberedField<Message> (&fields)[count], Message* to) {
  if (!scanner.Try('{')) return false;
  while (!scanner.Try('}')) {
    const std::string_view name = scanner.TryWord();
    int32_t value;
    if (!scanner.Try('=') || !ReadInt32(scanner, &value)) return false;
    const auto* field =
        std::find_if(std::begin(fields), std::end(fields), [&](const auto& f) { return f.name == name; });
    if (field == std::end(fields)) return false;
    (to->*field->set)(value);
  }
  return true;
}

constexpr NumberedField<Frame> kFrameFields[] = {
    {"file_location_id", &Frame::file_location_id, &Frame::set_file_location_id},
    {"parent_frame_id", &Frame::parent_frame_id, &Frame::set_parent_frame_id}};

}  // namespace

bool WriteTables(std::string_view tables, StackFrameIndexProto* to) {
  Scanner scanner(tables, "");
  while (!scanner.AtEnd()) {
    const std::string_view table = scanner.TryWord();
    int64_t expected = 0, number;
    while (scanner.TryInteger(&number)) {
      if (number != ++expected) return false;  // places are all that the proto has
      bool good = false;
      if (table == "FileNames") {
        good = ReadQuoted(scanner, to->add_file_names());
      } else if (table == "FunctionNames") {
        good = ReadQuoted(scanner, to->add_function_names());
      } else if (table == "FileLocations") {
        good = WriteNumbers(scanner, kLocationFields, to->add_file_locations());
      } else if (table == "StackFrames") {
        Frame* frame = to->add_stack_frames();
        good = WriteNumbers(scanner, kFrameFields, frame);
        // The text counts parents from one above the proto: 1 in the text is none.
        frame->set_parent_frame_id(std::max(frame->parent_frame_id() - 1, 0));
      }
      if (!good) return false;
    }
    if (expected == 0) return false;
  }
  return true;
}

std::string TablesText(const StackFrameIndexProto& from) {
  std::string out;
  const auto open = [&](std::string_view name) { StrAppend(&out, out.empty() ? "" : "\n\n", name); };
  const auto names = [&](std::string_view name, const auto& values) {
    if (values.empty()) return;
    open(name);
    for (int i = 0; i < values.size(); ++i) {
      StrAppend(&out, "\n", i + 1, " ");
      AppendQuoted(&out, values.Get(i));
    }
  };
  names("FileNames", from.file_names());
  names("FunctionNames", from.function_names());
  if (from.file_locations_size() > 0) open("FileLocations");
  for (int i = 0; i < from.file_locations_size(); ++i) {
    StrAppend(&out, "\n", i + 1, " {");
    for (const auto& field : kLocationFields) {
      StrAppend(&out, out.back() == '{' ? "" : " ", field.name, "=", (from.file_locations(i).*field.get)());
    }
    out += '}';
  }
  if (from.stack_frames_size() > 0) open("StackFrames");
  for (int i = 0; i < from.stack_frames_size(); ++i) {
    const Frame& frame = from.stack_frames(i);
    const int64_t parent = int64_t{frame.parent_frame_id()} + 1;
    StrAppend(&out, "\n", i + 1, " {file_location_id=", frame.file_location_id(), " parent_frame_id=", parent, "}");
  }
  return out;
}

}  // namespace smelt::hlo::proto

#include "hlo/proto/shape_fields.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/scanner/scanner.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::proto {
namespace {

using text::Scanner;

constexpr char kLevels[] = {'D', 'C', 'S', 'H'};  // in the order of DimLevelType

// D(D,C+~): a level for each dimension; `+` is not unique, `~` not ordered.
bool WriteLevels(Scanner& scanner, LayoutProto* to) {
  do {
    const char c = scanner.Peek();
    const auto* level = std::find(std::begin(kLevels), std::end(kLevels), c);
    if (level == std::end(kLevels)) return false;
    scanner.set_at(scanner.at() + 1);
    to->add_dim_level_types(static_cast<DimLevelType>(level - kLevels));
    to->add_dim_unique(!scanner.Try('+'));
    to->add_dim_ordered(!scanner.Try('~'));
  } while (scanner.Try(','));
  return true;
}

// SC(1:50,200): cuts of a dimension; several are separated by parentheses.
bool WriteSplits(Scanner& scanner, LayoutProto* to) {
  SplitConfigProto* split = to->add_split_configs();
  int64_t value;
  if (!scanner.TryInteger(&value) || !scanner.Try(':')) return false;
  split->set_dimension(value);
  do {
    if (!scanner.TryInteger(&value)) return false;
    split->add_split_indices(value);
  } while (scanner.Try(','));
  return true;
}

bool WriteType(Scanner& scanner, PrimitiveType* to) {
  const auto type = PrimitiveTypeFromName(scanner.TryWord());
  if (!type) return false;
  *to = static_cast<PrimitiveType>(TypeInfo(*type).proto_number);
  return true;
}

// The parts of a layout that Layout keeps as written: D(..) L(..) #(..) *(..) SC(..) P(..) M(..).
bool WriteRest(std::string_view rest, LayoutProto* to) {
  Scanner scanner(rest, "");
  while (!scanner.AtEnd()) {
    PrimitiveType type;
    int64_t value;
    bool good;
    if (scanner.Try(std::string_view("SC"))) {
      good = scanner.Try('(') && WriteSplits(scanner, to);
      while (good && scanner.Peek() == ')') {
        scanner.Try(')');
        if (!scanner.Try('(')) {
          scanner.set_at(scanner.at() - 1);
          break;
        }
        good = WriteSplits(scanner, to);
      }
    } else if (scanner.Try(std::string_view("D"))) {
      good = scanner.Try('(') && WriteLevels(scanner, to);
    } else if (scanner.Try(std::string_view("L"))) {
      good = scanner.Try('(') && scanner.TryInteger(&value);
      if (good) to->set_tail_padding_alignment_in_elements(value);
    } else if (scanner.Try(std::string_view("M"))) {
      good = scanner.Try('(') && scanner.TryInteger(&value);
      if (good) to->set_dynamic_shape_metadata_prefix_bytes(value);
    } else if (scanner.Try('#')) {
      good = scanner.Try('(') && WriteType(scanner, &type);
      if (good) to->set_index_primitive_type(type);
    } else if (scanner.Try('*')) {
      good = scanner.Try('(') && WriteType(scanner, &type);
      if (good) to->set_pointer_primitive_type(type);
    } else {
      return false;
    }
    if (!good || !scanner.Try(')')) return false;
  }
  return true;
}

std::optional<smelt::hlo::PrimitiveType> TypeOfNumber(int number) {
  static const auto& by_number = *[] {
    auto* made = new std::array<std::optional<smelt::hlo::PrimitiveType>, 64>();
#define TYPE(enumerator, text, bits, kind, proto) (*made)[proto] = smelt::hlo::PrimitiveType::enumerator;
#include "hlo/primitive_types.def"
#undef TYPE
    return made;
  }();
  if (number < 0 || number >= static_cast<int>(by_number.size())) return std::nullopt;
  return by_number[number];
}

std::string TypeName(int number) {
  const auto type = TypeOfNumber(number);
  return type ? std::string(PrimitiveTypeName(*type)) : "";
}

absl::Status ReadRest(const LayoutProto& from, std::string* rest) {
  if (from.dim_level_types_size() > 0) {
    *rest += "D(";
    for (int i = 0; i < from.dim_level_types_size(); ++i) {
      const int level = from.dim_level_types(i);
      if (level < 0 || level >= static_cast<int>(std::size(kLevels))) {
        return absl::InvalidArgumentError(StrCat("layout: dimension level type ", level, " is none of 0 to 3"));
      }
      if (i > 0) *rest += ',';
      *rest += kLevels[level];
      if (i < from.dim_unique_size() && !from.dim_unique(i)) *rest += '+';
      if (i < from.dim_ordered_size() && !from.dim_ordered(i)) *rest += '~';
    }
    *rest += ')';
  }
  const int64_t alignment = from.tail_padding_alignment_in_elements();
  if (alignment != 0 && alignment != 1) StrAppend(rest, "L(", alignment, ")");
  if (from.index_primitive_type() != 0) StrAppend(rest, "#(", TypeName(from.index_primitive_type()), ")");
  if (from.pointer_primitive_type() != 0) StrAppend(rest, "*(", TypeName(from.pointer_primitive_type()), ")");
  if (from.split_configs_size() > 0) *rest += "SC";
  for (const SplitConfigProto& split : from.split_configs()) {
    StrAppend(rest, "(", split.dimension(), ":");
    for (int i = 0; i < split.split_indices_size(); ++i) StrAppend(rest, i > 0 ? "," : "", split.split_indices(i));
    *rest += ')';
  }
  if (from.has_physical_shape()) {
    return absl::InvalidArgumentError(
        "layout: a physical shape belongs to a sparse array, and HLO has no type for them");
  }
  const int64_t prefix = from.dynamic_shape_metadata_prefix_bytes();
  if (prefix != 0) StrAppend(rest, "M(", prefix, ")");
  return absl::OkStatus();
}

void WriteLayout(const Layout& layout, LayoutProto* to) {
  to->mutable_minor_to_major()->Assign(layout.minor_to_major.begin(), layout.minor_to_major.end());
  for (const std::vector<int64_t>& tile : layout.tiles) {
    to->add_tiles()->mutable_dimensions()->Assign(tile.begin(), tile.end());
  }
  to->set_element_size_in_bits(layout.element_size_in_bits);
  to->set_memory_space(layout.memory_space);
  if (!layout.rest.empty()) {
    LayoutProto parts;
    std::string back;
    const bool fits = WriteRest(layout.rest, &parts) && ReadRest(parts, &back).ok();
    if (fits) to->MergeFrom(parts);
    if (back != layout.rest) to->set_smelt_rest(layout.rest);
  }
  if (to->tail_padding_alignment_in_elements() == 0) to->set_tail_padding_alignment_in_elements(1);
}

absl::Status ReadLayout(const LayoutProto& from, Layout* layout) {
  layout->minor_to_major.assign(from.minor_to_major().begin(), from.minor_to_major().end());
  for (const TileProto& tile : from.tiles()) {
    layout->tiles.emplace_back(tile.dimensions().begin(), tile.dimensions().end());
  }
  layout->element_size_in_bits = from.element_size_in_bits();
  layout->memory_space = from.memory_space();
  return ReadRest(from, &layout->rest);
}

// A text of ours stands as it is only where it is one: it is printed again without another look.
absl::Status ReadKeptRest(const std::string& rest, Shape* shape) {
  Shape plain = Shape::Array(smelt::hlo::PrimitiveType::kF32, {1});
  plain.layout.emplace().minor_to_major = {0};
  plain.layout->rest = rest;
  std::string text;
  text::AppendShape(&text, plain, /*with_layout=*/true);
  Scanner scanner(text, "");
  Shape back;
  if (!text::ParseShape(scanner, &back) || !scanner.AtEnd() || back != plain) {
    return absl::InvalidArgumentError(StrCat("layout: `", rest, "` is no part of a layout"));
  }
  shape->layout->rest = rest;
  return absl::OkStatus();
}

}  // namespace

void WriteShape(const Shape& shape, ShapeProto* to) {
  to->set_element_type(static_cast<PrimitiveType>(TypeInfo(shape.element_type).proto_number));
  to->mutable_dimensions()->Assign(shape.dimensions.begin(), shape.dimensions.end());
  to->mutable_is_dynamic_dimension()->Assign(shape.dynamic.begin(), shape.dynamic.end());
  for (const Shape& element : shape.tuple_shapes) WriteShape(element, to->add_tuple_shapes());
  if (shape.layout) {
    WriteLayout(*shape.layout, to->mutable_layout());
  } else if (shape.IsArray()) {
    Layout implied;
    implied.minor_to_major.resize(shape.rank());
    std::iota(implied.minor_to_major.rbegin(), implied.minor_to_major.rend(), 0);
    WriteLayout(implied, to->mutable_layout());
    if (shape.rank() > 0) to->mutable_layout()->set_smelt_implied(true);
  }
}

absl::Status ReadShape(const ShapeProto& from, Shape* shape, int depth) {
  if (depth > text::kNestingLimit) {
    return absl::InvalidArgumentError(StrCat("expected at most ", text::kNestingLimit, " nested tuples in a shape"));
  }
  const auto type = TypeOfNumber(from.element_type());
  if (!type) return absl::InvalidArgumentError(StrCat("element type ", from.element_type(), " is not one of HLO's"));
  shape->element_type = *type;
  for (const ShapeProto& element : from.tuple_shapes()) {
    SMELT_RETURN_IF_ERROR(ReadShape(element, &shape->tuple_shapes.emplace_back(), depth + 1));
  }
  const bool buffer = *type == smelt::hlo::PrimitiveType::kBuffer;
  if (buffer ? shape->tuple_shapes.size() != 1 : !shape->IsTuple() && !shape->tuple_shapes.empty()) {
    return absl::InvalidArgumentError(StrCat(PrimitiveTypeName(*type), " with ", shape->tuple_shapes.size(),
                                             " element shapes; expected ", buffer ? "one" : "none"));
  }
  if (!shape->IsArray()) {
    if (from.dimensions_size() > 0) {
      return absl::InvalidArgumentError(
          StrCat(PrimitiveTypeName(*type), " has no dimensions, but the shape has ", from.dimensions_size()));
    }
    if (depth > 0 || shape->SizeFits()) return absl::OkStatus();
    return absl::InvalidArgumentError("expected a tuple of less than 2^60 bytes");
  }
  shape->dimensions.assign(from.dimensions().begin(), from.dimensions().end());
  const bool any_dynamic = std::find(from.is_dynamic_dimension().begin(), from.is_dynamic_dimension().end(), true) !=
                           from.is_dynamic_dimension().end();
  for (size_t i = 0; i < shape->dimensions.size(); ++i) {
    const int64_t size = shape->dimensions[i];
    const bool dynamic = static_cast<int>(i) < from.is_dynamic_dimension_size() && from.is_dynamic_dimension(i);
    if (size < 0 && size != kUnboundedSize) {
      return absl::InvalidArgumentError(StrCat("dimension ", i, " of a shape has size ", size));
    }
    if (any_dynamic || size == kUnboundedSize) {
      shape->dynamic.resize(shape->dimensions.size());
      shape->dynamic[i] = dynamic || size == kUnboundedSize;
    }
  }
  if (!shape->SizeFits()) {
    return absl::InvalidArgumentError(StrCat("expected an array of less than 2^60 bytes, found ", shape->ToString()));
  }
  if (!from.has_layout() || from.layout().smelt_implied()) return absl::OkStatus();
  SMELT_RETURN_IF_ERROR(ReadLayout(from.layout(), &shape->layout.emplace()));
  if (from.layout().has_smelt_rest()) SMELT_RETURN_IF_ERROR(ReadKeptRest(from.layout().smelt_rest(), shape));
  // A scalar's empty layout is not in the text.
  if (*shape->layout == Layout{}) shape->layout.reset();
  return absl::OkStatus();
}

}  // namespace smelt::hlo::proto

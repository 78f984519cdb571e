#include "hlo/text/shape_text.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "hlo/str_cat.h"

namespace smelt::hlo::text {
namespace {

// Skips a parenthesised group, which is kept as written: `(D,C)` of `D(D,C)`.
bool SkipGroup(Scanner& scanner) {
  if (!scanner.Expect('(')) return false;
  int depth = 1;
  while (depth > 0) {
    const char c = scanner.Peek();
    if (c == '\0' && scanner.AtEnd()) return scanner.Fail("`)`");
    if (c == '"') return scanner.Fail("`)`");
    if (c == '(') ++depth;
    if (c == ')') --depth;
    scanner.set_at(scanner.at() + 1);
  }
  return true;
}

// T(8,128)(2,1): one group for each level of tiling.
bool ParseTiles(Scanner& scanner, Layout* layout) {
  if (scanner.Peek() != '(') return scanner.Fail("`(` and the sizes of a tile");
  while (scanner.Peek() == '(') {
    scanner.Expect('(');
    std::vector<int64_t>& tile = layout->tiles.emplace_back();
    do {
      int64_t size = INT64_MIN;  // `*`: the dimension is combined with the next
      if (!scanner.Try('*') && !scanner.Integer(&size, "the size of a tile or `*`")) return false;
      tile.push_back(size);
    } while (scanner.Try(','));
    if (!scanner.Expect(')')) return false;
  }
  return true;
}

// One part of a layout after the colon. The order is XLA's.
struct LayoutPart {
  std::string_view key;
  bool has_group;
  enum { kTiles, kElementSize, kMemorySpace, kKept } meaning;
};
constexpr LayoutPart kLayoutParts[] = {
    {"D", true, LayoutPart::kKept},  {"T", true, LayoutPart::kTiles},       {"L", true, LayoutPart::kKept},
    {"#", true, LayoutPart::kKept},  {"*", true, LayoutPart::kKept},        {"E", true, LayoutPart::kElementSize},
    {"SC", true, LayoutPart::kKept}, {"S", true, LayoutPart::kMemorySpace}, {"P", true, LayoutPart::kKept},
    {"M", true, LayoutPart::kKept},
};

bool ParseLayoutParts(Scanner& scanner, Layout* layout) {
  for (;;) {
    if (scanner.Peek() == '}') return true;
    const char* start = scanner.at();
    const std::string_view left(start, scanner.end() - start);
    const LayoutPart* part = nullptr;
    for (const LayoutPart& candidate : kLayoutParts) {
      if (left.substr(0, candidate.key.size()) == candidate.key) {
        part = &candidate;
        break;
      }
    }
    if (part == nullptr) return scanner.Fail("`}` or one of the layout parts D, T, L, #, *, E, S, SC, P, M");
    scanner.set_at(start + part->key.size());
    switch (part->meaning) {
      case LayoutPart::kTiles:
        if (!ParseTiles(scanner, layout)) return false;
        break;
      case LayoutPart::kElementSize:
      case LayoutPart::kMemorySpace: {
        int64_t* value =
            part->meaning == LayoutPart::kElementSize ? &layout->element_size_in_bits : &layout->memory_space;
        if (!scanner.Expect('(') || !scanner.Integer(value) || !scanner.Expect(')')) return false;
        break;
      }
      case LayoutPart::kKept:
        if (!SkipGroup(scanner)) return false;
        layout->rest.append(scanner.From(start));
        break;
    }
  }
}

bool ParseLayout(Scanner& scanner, Shape* shape) {
  // `{` opens a layout only before a number or a colon: `f32[] {` may be the start of a body.
  if (scanner.Here() != '{') return true;
  const char* brace = scanner.at();
  scanner.set_at(brace + 1);
  const char next = scanner.Peek();
  if (!IsA(next, kDigitCharacter) && next != ':') {
    scanner.set_at(brace);
    return true;
  }
  Layout& layout = shape->layout.emplace();
  if (next != ':') {
    layout.minor_to_major.reserve(shape->dimensions.size());
    do {
      int64_t dimension;
      if (!scanner.Integer(&dimension, "the number of a dimension")) return false;
      layout.minor_to_major.push_back(dimension);
    } while (scanner.Try(','));
  }
  if (scanner.Try(':') && !ParseLayoutParts(scanner, &layout)) return false;
  return scanner.Expect('}');
}

bool ParseDimensions(Scanner& scanner, Shape* shape) {
  if (scanner.Try(']')) return true;
  absl::InlinedVector<int64_t, 8> sizes;  // counted first, so that the shape allocates once
  do {
    int64_t size = kUnboundedSize;
    bool dynamic = true;
    if (!scanner.Try('?')) {
      dynamic = scanner.Try(std::string_view("<="));
      const char* at = scanner.at();
      if (!scanner.Integer(&size, "the size of a dimension, `<=` and a bound, or `?`")) return false;
      if (size < 0) return scanner.FailAt(at, "a size that is not negative");
    }
    if (dynamic || !shape->dynamic.empty()) {
      shape->dynamic.resize(sizes.size());  // fixed sizes before the first dynamic one
      shape->dynamic.push_back(dynamic);
    }
    sizes.push_back(size);
  } while (scanner.Try(','));
  shape->dimensions.assign(sizes.begin(), sizes.end());
  return scanner.Expect(']');
}

bool ParseTuple(Scanner& scanner, Shape* shape, int depth) {
  const char* start = scanner.at();
  scanner.Expect('(');
  shape->element_type = PrimitiveType::kTuple;
  if (!scanner.Try(')')) {
    do {
      if (!ParseShape(scanner, &shape->tuple_shapes.emplace_back(), depth + 1)) return false;
    } while (scanner.Try(','));
    if (!scanner.Expect(')')) return false;
  }
  // Checked once for the whole tuple, so that deep nesting stays linear.
  return depth > 0 || shape->SizeFits() || scanner.FailAt(start, "a tuple of less than 2^60 bytes", "a larger one");
}

}  // namespace

bool ParseShape(Scanner& scanner, Shape* shape, int depth) {
  if (depth > kNestingLimit) return scanner.Fail(StrCat("at most ", kNestingLimit, " nested tuples"));
  if (scanner.Peek() == '(') return ParseTuple(scanner, shape, depth);
  const char* start = scanner.at();
  const std::string_view name = scanner.TryWord();
  const std::optional<PrimitiveType> type = PrimitiveTypeFromName(name);
  if (!type || *type == PrimitiveType::kTuple) return scanner.FailAt(start, "a shape such as f32[2,3]");
  shape->element_type = *type;
  if (*type == PrimitiveType::kBuffer) {
    return scanner.Expect('(') && ParseShape(scanner, &shape->tuple_shapes.emplace_back(), depth + 1) &&
           scanner.Expect(')');
  }
  if (scanner.Here() != '[') return scanner.FailAt(scanner.at(), "`[` and the dimensions of the shape");
  scanner.set_at(scanner.at() + 1);
  if (!ParseDimensions(scanner, shape) || !ParseLayout(scanner, shape)) return false;
  if (!shape->IsArray() && !shape->dimensions.empty()) return scanner.FailAt(start, "no dimensions of this type");
  return shape->SizeFits() || scanner.FailAt(start, "an array of less than 2^60 bytes", "a larger one");
}

bool AtShape(Scanner& scanner) {
  if (scanner.Peek() == '(') return true;
  const char* start = scanner.at();
  const std::string_view word = scanner.TryWord();
  const char next = scanner.Here();
  scanner.set_at(start);
  return (next == '[' && !word.empty()) || (next == '(' && word == "b");
}

void AppendShape(std::string* out, const Shape& shape, bool with_layout) {
  if (shape.IsTuple()) {
    *out += '(';
    for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
      if (i > 0) StrAppend(out, ", ");
      // XLA counts long tuples for the reader, and so do we.
      if (i > 0 && i % 5 == 0) StrAppend(out, "/*index=", i, "*/");
      AppendShape(out, shape.tuple_shapes[i], with_layout);
    }
    *out += ')';
    return;
  }
  StrAppend(out, PrimitiveTypeName(shape.element_type));
  if (shape.element_type == PrimitiveType::kBuffer) {
    *out += '(';
    for (const Shape& content : shape.tuple_shapes) AppendShape(out, content, with_layout);
    *out += ')';
    return;
  }
  *out += '[';
  for (size_t i = 0; i < shape.dimensions.size(); ++i) {
    if (i > 0) *out += ',';
    if (shape.dimensions[i] == kUnboundedSize) {
      *out += '?';
    } else {
      StrAppend(out, !shape.dynamic.empty() && shape.dynamic[i] ? "<=" : "", shape.dimensions[i]);
    }
  }
  *out += ']';
  if (!with_layout || !shape.layout) return;
  const Layout& layout = *shape.layout;
  std::string_view before, middle,
      after;  // D | L # * | SC P M, as they stand around tiles, element size and memory space
  const std::string_view rest = layout.rest;
  size_t split = 0;
  if (!rest.empty() && rest[0] == 'D') split = std::min(rest.find(')'), rest.size() - 1) + 1;
  before = rest.substr(0, split);
  size_t tail = split;
  while (tail < rest.size() && (rest[tail] == 'L' || rest[tail] == '#' || rest[tail] == '*')) {
    tail = std::min(rest.find(')', tail), rest.size() - 1) + 1;
  }
  middle = rest.substr(split, tail - split);
  after = rest.substr(tail);
  const bool has_parts =
      !layout.tiles.empty() || !rest.empty() || layout.element_size_in_bits != 0 || layout.memory_space != 0;
  if (layout.minor_to_major.empty() && !has_parts) return;
  *out += '{';
  for (size_t i = 0; i < layout.minor_to_major.size(); ++i) {
    StrAppend(out, i > 0 ? "," : "", layout.minor_to_major[i]);
  }
  if (has_parts) {
    StrAppend(out, ":", before);
    if (!layout.tiles.empty()) *out += 'T';
    for (const std::vector<int64_t>& tile : layout.tiles) {
      *out += '(';
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i > 0) *out += ',';
        if (tile[i] == INT64_MIN) {
          *out += '*';
        } else {
          StrAppend(out, tile[i]);
        }
      }
      *out += ')';
    }
    *out += middle;
    if (layout.element_size_in_bits != 0) StrAppend(out, "E(", layout.element_size_in_bits, ")");
    if (layout.memory_space != 0) StrAppend(out, "S(", layout.memory_space, ")");
    *out += after;
  }
  *out += '}';
}

}  // namespace smelt::hlo::text

#include "hlo/text/shape_text.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/str_cat.h"
#include "hlo/text/layout_text.h"

namespace smelt::hlo::text {
namespace {

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
  if (scanner.Peek() != '[') return scanner.Fail("`[` and the dimensions of the shape");
  scanner.set_at(scanner.at() + 1);
  if (!ParseDimensions(scanner, shape) || !ParseLayout(scanner, shape)) return false;
  if (!shape->IsArray() && !shape->dimensions.empty()) return scanner.FailAt(start, "no dimensions of this type");
  return shape->SizeFits() || scanner.FailAt(start, "an array of less than 2^60 bytes", "a larger one");
}

bool AtShape(Scanner& scanner) {
  if (scanner.Peek() == '(') return true;
  const char* start = scanner.at();
  const std::string_view word = scanner.TryWord();
  const char next = word.empty() ? '\0' : scanner.Peek();
  scanner.set_at(start);
  return next == '[' || (next == '(' && word == "b");
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
  shape.layout->AppendTo(out);
}

}  // namespace smelt::hlo::text

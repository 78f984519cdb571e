#include "hlo/shape.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace smelt::hlo {

Shape Shape::Array(PrimitiveType type, std::vector<int64_t> dimensions) {
  Shape shape;
  shape.element_type = type;
  shape.dimensions = std::move(dimensions);
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> shapes) {
  Shape shape;
  shape.tuple_shapes = std::move(shapes);
  return shape;
}

Shape Shape::Token() {
  Shape shape;
  shape.element_type = PrimitiveType::kToken;
  return shape;
}

bool Shape::IsDynamic() const {
  for (bool d : dynamic) {
    if (d) return true;
  }
  for (const Shape& shape : tuple_shapes) {
    if (shape.IsDynamic()) return true;
  }
  return false;
}

int64_t Shape::ElementCount() const {
  int64_t count = 1;
  for (int64_t d : dimensions) count *= d == kUnboundedSize ? 1 : d;
  return count;
}

int64_t Shape::ByteSize() const {
  if (IsArray()) return ElementCount() * StorageBytes(element_type);
  int64_t bytes = 0;
  for (const Shape& shape : tuple_shapes) bytes += shape.ByteSize();
  return bytes;
}

bool Shape::SizeFits() const {
  constexpr int64_t kLimit = int64_t{1} << 60;
  if (IsTuple()) {
    int64_t bytes = 0;
    for (const Shape& shape : tuple_shapes) {
      if (!shape.SizeFits() || __builtin_add_overflow(bytes, shape.ByteSize(), &bytes)) return false;
    }
    return bytes < kLimit;
  }
  if (!IsArray()) return true;
  // A zero anywhere makes the array empty, but the other dimensions must still multiply without overflow: strides use
  // them.
  int64_t count = 1;
  for (int64_t d : dimensions) {
    if (d == kUnboundedSize) continue;
    if (d < 0) return false;
    if (__builtin_mul_overflow(count, std::max<int64_t>(d, 1), &count) || count > kLimit) return false;
  }
  return count < kLimit / std::max<int64_t>(StorageBytes(element_type), 1);
}

int64_t Shape::LeafCount() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& shape : tuple_shapes) count += shape.LeafCount();
  return count;
}

void Shape::AppendLeaves(std::vector<const Shape*>* leaves) const {
  if (!IsTuple()) {
    leaves->push_back(this);
    return;
  }
  for (const Shape& shape : tuple_shapes) shape.AppendLeaves(leaves);
}

std::vector<int64_t> Shape::Strides() const {
  std::vector<int64_t> strides(dimensions.size());
  int64_t stride = 1;
  for (int64_t i = rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= dimensions[i];
  }
  return strides;
}

bool Shape::HasDefaultLayout() const {
  if (!layout) return true;
  for (int64_t i = 0; i < static_cast<int64_t>(layout->minor_to_major.size()); ++i) {
    if (layout->minor_to_major[i] != rank() - 1 - i) return false;
  }
  return true;
}

std::string Shape::ToString(bool with_layout) const {
  if (IsTuple()) {
    return absl::StrCat(
        "(",
        absl::StrJoin(tuple_shapes, ", ", [&](std::string* out, const Shape& s) { *out += s.ToString(with_layout); }),
        ")");
  }
  std::string text(PrimitiveTypeName(element_type));
  if (element_type == PrimitiveType::kBuffer) {
    return absl::StrCat(text, "(", tuple_shapes.empty() ? "" : tuple_shapes[0].ToString(with_layout), ")");
  }
  text += '[';
  for (int64_t i = 0; i < rank(); ++i) {
    if (i > 0) text += ',';
    if (dimensions[i] == kUnboundedSize) {
      text += '?';
    } else {
      absl::StrAppend(&text, !dynamic.empty() && dynamic[i] ? "<=" : "", dimensions[i]);
    }
  }
  text += ']';
  if (!with_layout || !layout || !IsArray()) return text;
  layout->AppendTo(&text);
  return text;
}

bool Shape::SameAs(const Shape& other) const {
  if (element_type != other.element_type || dimensions != other.dimensions) return false;
  if (tuple_shapes.size() != other.tuple_shapes.size()) return false;
  for (size_t i = 0; i < tuple_shapes.size(); ++i) {
    if (!tuple_shapes[i].SameAs(other.tuple_shapes[i])) return false;
  }
  return true;
}

}  // namespace smelt::hlo

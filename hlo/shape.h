// The type of a value: an array with element type and dimensions, a tuple of shapes, a token, an opaque value or a
// buffer.
//
//   Shape s = Shape::Array(PrimitiveType::kF32, {2, 3});
//   s.ToString()            // "f32[2,3]"
//   s.ElementCount()        // 6
//
// Values are always logical and row-major in Smelt: a layout is kept for the text and for the meaning of `bitcast`, it
// does not change how a Literal or a run-time buffer lies in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hlo/layout.h"
#include "hlo/primitive_type.h"

namespace smelt::hlo {

inline constexpr int64_t kUnboundedSize = INT64_MIN;

struct Shape {
  PrimitiveType element_type = PrimitiveType::kTuple;
  std::vector<int64_t> dimensions;
  std::vector<bool>
      dynamic;  // empty, or one per dimension: the size is a bound (`<=8`) or unbounded (`?`, kUnboundedSize)
  std::optional<Layout> layout;
  std::vector<Shape> tuple_shapes;  // of a tuple; of a buffer, its one array

  static Shape Array(PrimitiveType type, std::vector<int64_t> dimensions);
  static Shape Scalar(PrimitiveType type) { return Array(type, {}); }
  static Shape Tuple(std::vector<Shape> shapes);
  static Shape Token();

  bool IsArray() const { return IsArrayType(element_type); }
  bool IsTuple() const { return element_type == PrimitiveType::kTuple; }
  bool IsToken() const { return element_type == PrimitiveType::kToken; }
  bool IsScalar() const { return IsArray() && dimensions.empty(); }
  bool IsDynamic() const;
  int64_t rank() const { return static_cast<int64_t>(dimensions.size()); }

  // Product of the dimensions; 1 for a scalar. Shapes that the parser and shape inference let through never overflow.
  int64_t ElementCount() const;
  // Bytes of the values as Smelt keeps them (see StorageBytes), over all leaves of a tuple.
  int64_t ByteSize() const;
  // Whether element count and byte size fit in 63 bits and no dimension is negative (unbounded ones aside).
  bool SizeFits() const;
  // Number of array leaves of a tuple, 1 for an array.
  int64_t LeafCount() const;
  // Appends pointers to the non-tuple leaves in order.
  void AppendLeaves(std::vector<const Shape*>* leaves) const;

  // Row-major strides in elements.
  std::vector<int64_t> Strides() const;
  // The layout is absent or is the default {rank-1, ..., 0}.
  bool HasDefaultLayout() const;

  std::string ToString(bool with_layout = false) const;

  // Same types and dimensions; layouts are ignored.
  bool SameAs(const Shape& other) const;
  bool SameDimensions(const Shape& other) const { return dimensions == other.dimensions; }
  bool operator==(const Shape&) const = default;
};

}  // namespace smelt::hlo

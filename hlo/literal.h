// A value: an array with its elements in row-major order, or a tuple of literals.
//
//   Literal x = Literal::FromValues<float>(PrimitiveType::kF32, {2, 2}, {1, 2, 3, 4});
//   x.data<float>()[3]      // 4
//
// Elements of a type with fewer than 8 bits take a byte each; bf16, f16 and the 8-bit floats hold their bit patterns
// (see small_float.h). Storage is 64-byte aligned, so that compiled kernels use literals in place. Literals are values:
// copying copies the elements.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/shape.h"

namespace smelt::hlo {

class Literal {
 public:
  Literal() = default;
  // Zero-filled. The shape must be an array, a tuple of such or a token, with SizeFits().
  explicit Literal(Shape shape);
  // Does what the constructor does, but refuses shapes that are too large for memory instead of throwing.
  static absl::StatusOr<Literal> Create(Shape shape, int64_t byte_limit = int64_t{1} << 40);
  // Does what Create does, with elements that hold anything until they are written: for code that fills every one.
  static absl::StatusOr<Literal> CreateUninitialized(Shape shape, int64_t byte_limit = int64_t{1} << 40);
  static Literal Tuple(std::vector<Literal> elements);

  template <typename T>
  static Literal FromValues(PrimitiveType type, std::vector<int64_t> dimensions, absl::Span<const T> values) {
    Literal literal(Shape::Array(type, std::move(dimensions)));
    for (size_t i = 0; i < values.size(); ++i) literal.data<T>()[i] = values[i];
    return literal;
  }

  Literal(const Literal& other);
  Literal& operator=(const Literal& other);
  Literal(Literal&&) = default;
  Literal& operator=(Literal&&) = default;

  const Shape& shape() const { return shape_; }
  int64_t element_count() const { return IsArray() ? shape_.ElementCount() : 0; }
  bool IsArray() const { return shape_.IsArray(); }

  // The elements as T, whose size must be StorageBytes of the element type.
  template <typename T>
  absl::Span<T> data() {
    return absl::MakeSpan(reinterpret_cast<T*>(bytes_.get()), size_ / sizeof(T));
  }
  template <typename T>
  absl::Span<const T> data() const {
    return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes_.get()), size_ / sizeof(T));
  }
  void* raw() { return bytes_.get(); }
  const void* raw() const { return bytes_.get(); }
  int64_t byte_size() const { return size_; }

  std::vector<Literal>& elements() { return elements_; }
  const std::vector<Literal>& elements() const { return elements_; }

  // Element by flat row-major index, converted. Pred is 0 or 1. Not for complex (real part) when precision matters:
  // 64-bit integers go through the integer accessors.
  double GetDouble(int64_t index) const;
  int64_t GetInteger(int64_t index) const;  // floats are truncated; u64 wraps
  std::complex<double> GetComplex(int64_t index) const;
  void SetDouble(int64_t index, double value);  // rounds to nearest even; integers truncate
  void SetInteger(int64_t index, int64_t value);
  void SetComplex(int64_t index, std::complex<double> value);

  // Changes dimensions without moving elements; the element count must stay the same.
  void Reshape(std::vector<int64_t> dimensions);

  // Equal bits (NaNs with equal payloads are equal).
  bool operator==(const Literal& other) const;
  // All elements equal bit for bit to the first one.
  bool IsUniform() const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  // Gets memory for shape_ (of an array); false when there is none.
  bool Allocate(bool zero);

  Shape shape_;
  std::unique_ptr<std::byte[], Free> bytes_;
  int64_t size_ = 0;
  std::vector<Literal> elements_;
};

}  // namespace smelt::hlo

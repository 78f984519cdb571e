#include "hlo/literal.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/large_pages.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

constexpr size_t kAlignment = 64;

template <typename To>
To Saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (value >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

// The low `bits` bits of a value, as the byte that stores a sub-byte integer (sign-extended when signed).
int8_t Narrow(int64_t value, int bits, bool is_signed) {
  const uint8_t kept = static_cast<uint8_t>(value & ((1 << bits) - 1));
  if (is_signed && (kept >> (bits - 1) & 1)) return static_cast<int8_t>(kept | (0xff << bits));
  return static_cast<int8_t>(kept);
}

}  // namespace

// The block starts somewhere before the aligned address; its own address stands in the eight bytes before that.
void Literal::Free::operator()(std::byte* bytes) const {
  void* block;
  std::memcpy(&block, bytes - sizeof(block), sizeof(block));
  std::free(block);
}

bool Literal::Allocate(bool zero) {
  size_ = shape_.ByteSize();
  const size_t total = static_cast<size_t>(size_) + kAlignment + sizeof(void*);
  // calloc gets large blocks from the system already zeroed, without touching them.
  void* block = zero ? std::calloc(total, 1) : std::malloc(total);
  if (block == nullptr) return false;
  PreferLargePages(block, static_cast<int64_t>(total));  // programs read their constants in place
  const uintptr_t start = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
  const uintptr_t address = (start + kAlignment - 1) / kAlignment * kAlignment;
  auto* aligned = reinterpret_cast<std::byte*>(address);
  std::memcpy(aligned - sizeof(block), &block, sizeof(block));
  bytes_.reset(aligned);
  return true;
}

Literal::Literal(Shape shape) : shape_(std::move(shape)) {
  if (shape_.IsTuple()) {
    elements_.reserve(shape_.tuple_shapes.size());
    for (const Shape& element : shape_.tuple_shapes) elements_.emplace_back(element);
    return;
  }
  if (!shape_.IsArray()) return;
  Check(shape_.SizeFits(), "a literal's shape overflows: Literal::Create refuses it");
  if (!Allocate(/*zero=*/true)) throw std::bad_alloc();
}

absl::StatusOr<Literal> Literal::Create(Shape shape, int64_t byte_limit) {
  if (!shape.SizeFits() || shape.ByteSize() > byte_limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a value of shape ", shape.ToString(), " is larger than the limit of ", byte_limit, " bytes"));
  }
  Literal literal;
  literal.shape_ = std::move(shape);
  if (literal.shape_.IsTuple()) {
    for (const Shape& element : literal.shape_.tuple_shapes) {
      absl::StatusOr<Literal> made = Create(element, byte_limit);
      if (!made.ok()) return made.status();
      literal.elements_.push_back(*std::move(made));
    }
  } else if (literal.shape_.IsArray() && !literal.Allocate(/*zero=*/true)) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a value of shape ", literal.shape_.ToString()));
  }
  return literal;
}

absl::StatusOr<Literal> Literal::CreateUninitialized(Shape shape, int64_t byte_limit) {
  if (!shape.IsArray()) return Create(std::move(shape), byte_limit);
  if (!shape.SizeFits() || shape.ByteSize() > byte_limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a value of shape ", shape.ToString(), " is larger than the limit of ", byte_limit, " bytes"));
  }
  Literal literal;
  literal.shape_ = std::move(shape);
  if (!literal.Allocate(/*zero=*/false)) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for a value of shape ", literal.shape_.ToString()));
  }
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  Literal literal;
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (const Literal& element : elements) shapes.push_back(element.shape());
  literal.shape_ = Shape::Tuple(std::move(shapes));
  literal.elements_ = std::move(elements);
  return literal;
}

Literal::Literal(const Literal& other) : shape_(other.shape_), elements_(other.elements_) {
  if (!other.bytes_) return;
  if (!Allocate(/*zero=*/false)) throw std::bad_alloc();
  std::memcpy(bytes_.get(), other.bytes_.get(), size_);
}

Literal& Literal::operator=(const Literal& other) {
  if (this != &other) *this = Literal(other);
  return *this;
}

double Literal::GetDouble(int64_t index) const {
  const PrimitiveType type = shape_.element_type;
  switch (type) {
    case PrimitiveType::kF32:
      return data<float>()[index];
    case PrimitiveType::kF64:
      return data<double>()[index];
    case PrimitiveType::kF16:
    case PrimitiveType::kBF16:
      return DecodeFloat(type, data<uint16_t>()[index]);
    case PrimitiveType::kC64:
      return data<std::complex<float>>()[index].real();
    case PrimitiveType::kC128:
      return data<std::complex<double>>()[index].real();
    case PrimitiveType::kU64:
      return static_cast<double>(data<uint64_t>()[index]);
    default:
      if (IsFloat(type)) return DecodeFloat(type, data<uint8_t>()[index]);
      return static_cast<double>(GetInteger(index));
  }
}

int64_t Literal::GetInteger(int64_t index) const {
  const PrimitiveType type = shape_.element_type;
  switch (type) {
    case PrimitiveType::kPred:
      return data<uint8_t>()[index] != 0;
    case PrimitiveType::kS1:
    case PrimitiveType::kS2:
    case PrimitiveType::kS4:
    case PrimitiveType::kS8:
      return data<int8_t>()[index];
    case PrimitiveType::kU1:
    case PrimitiveType::kU2:
    case PrimitiveType::kU4:
    case PrimitiveType::kU8:
      return data<uint8_t>()[index];
    case PrimitiveType::kS16:
      return data<int16_t>()[index];
    case PrimitiveType::kU16:
      return data<uint16_t>()[index];
    case PrimitiveType::kS32:
      return data<int32_t>()[index];
    case PrimitiveType::kU32:
      return data<uint32_t>()[index];
    case PrimitiveType::kS64:
      return data<int64_t>()[index];
    case PrimitiveType::kU64:
      return static_cast<int64_t>(data<uint64_t>()[index]);
    default:
      return Saturate<int64_t>(GetDouble(index));
  }
}

std::complex<double> Literal::GetComplex(int64_t index) const {
  if (shape_.element_type == PrimitiveType::kC64) return std::complex<double>(data<std::complex<float>>()[index]);
  if (shape_.element_type == PrimitiveType::kC128) return data<std::complex<double>>()[index];
  return GetDouble(index);
}

void Literal::SetDouble(int64_t index, double value) {
  const PrimitiveType type = shape_.element_type;
  switch (type) {
    case PrimitiveType::kF32:
      data<float>()[index] = static_cast<float>(value);
      return;
    case PrimitiveType::kF64:
      data<double>()[index] = value;
      return;
    case PrimitiveType::kF16:
    case PrimitiveType::kBF16:
      data<uint16_t>()[index] = EncodeFloat(type, value);
      return;
    case PrimitiveType::kC64:
    case PrimitiveType::kC128:
      SetComplex(index, value);
      return;
    case PrimitiveType::kPred:
      data<uint8_t>()[index] = value != 0;
      return;
    case PrimitiveType::kU64:
      data<uint64_t>()[index] = Saturate<uint64_t>(value);
      return;
    default:
      if (IsFloat(type)) {
        data<uint8_t>()[index] = static_cast<uint8_t>(EncodeFloat(type, value));
      } else {
        SetInteger(index, Saturate<int64_t>(value));
      }
  }
}

void Literal::SetInteger(int64_t index, int64_t value) {
  const PrimitiveType type = shape_.element_type;
  switch (type) {
    case PrimitiveType::kPred:
      data<uint8_t>()[index] = value != 0;
      return;
    case PrimitiveType::kS16:
    case PrimitiveType::kU16:
      data<uint16_t>()[index] = static_cast<uint16_t>(value);
      return;
    case PrimitiveType::kS32:
    case PrimitiveType::kU32:
      data<uint32_t>()[index] = static_cast<uint32_t>(value);
      return;
    case PrimitiveType::kS64:
    case PrimitiveType::kU64:
      data<uint64_t>()[index] = static_cast<uint64_t>(value);
      return;
    default:
      if (IsInteger(type)) {
        data<int8_t>()[index] = Narrow(value, BitWidth(type), IsSigned(type));
      } else {
        SetDouble(index, static_cast<double>(value));
      }
  }
}

void Literal::SetComplex(int64_t index, std::complex<double> value) {
  if (shape_.element_type == PrimitiveType::kC64) {
    data<std::complex<float>>()[index] = std::complex<float>(value);
  } else if (shape_.element_type == PrimitiveType::kC128) {
    data<std::complex<double>>()[index] = value;
  } else {
    SetDouble(index, value.real());
  }
}

void Literal::Reshape(std::vector<int64_t> dimensions) {
  Shape reshaped = Shape::Array(shape_.element_type, std::move(dimensions));
  Check(IsArray() && reshaped.ElementCount() == shape_.ElementCount(), "Reshape changes the element count");
  shape_ = std::move(reshaped);
}

bool Literal::operator==(const Literal& other) const {
  if (!shape_.SameAs(other.shape_) || size_ != other.size_ || elements_ != other.elements_) return false;
  return size_ == 0 || std::memcmp(bytes_.get(), other.bytes_.get(), size_) == 0;
}

bool Literal::IsUniform() const {
  if (!IsArray()) return false;
  const int64_t step = StorageBytes(shape_.element_type);
  // Equal to itself shifted by one element: every element equals the one before.
  return size_ <= step || std::memcmp(bytes_.get(), bytes_.get() + step, size_ - step) == 0;
}

}  // namespace smelt::hlo

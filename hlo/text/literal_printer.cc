#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/str_cat.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/nan_payload.h"

namespace smelt::hlo::text {
namespace {

template <typename T>
void AppendFloat(std::string* out, T value) {
  if (value == 0) {
    *out += std::signbit(value) ? "-0.0" : "0";
    return;
  }
  if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
    return;
  }
  // XLA reads digits without a point or an exponent as an integer of 64 bits: 2^63 as a negative number, and more not
  // at all.
  char buffer[40];
  char* const end = buffer + sizeof(buffer);
  const auto result = std::abs(value) < T(1e18) ? std::to_chars(buffer, end, value)
                                                : std::to_chars(buffer, end, value, std::chars_format::scientific);
  out->append(buffer, result.ptr - buffer);
}

void AppendNan(std::string* out, PrimitiveType type, uint64_t bits) {
  const int mantissa = NanPayloadBits(type);
  if (mantissa == 0) {
    // One NaN, in some types with a sign.
    *out += (bits >> (RealBits(type) - 1) & 1) != 0 && type == PrimitiveType::kF8E4M3FN ? "-nan" : "nan";
    return;
  }
  *out += (bits >> (RealBits(type) - 1) & 1) != 0 ? "-nan" : "nan";
  const uint64_t payload = bits & ((uint64_t{1} << mantissa) - 1);
  if (payload != uint64_t{1} << (mantissa - 1)) StrAppend(out, "(0x", absl::Hex(payload), ")");
}

template <typename T>
void AppendRealBits(std::string* out, PrimitiveType type, T value) {
  if (std::isnan(value)) {
    std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t> bits;
    std::memcpy(&bits, &value, sizeof(bits));
    AppendNan(out, type, bits);
  } else {
    AppendFloat(out, value);
  }
}

void AppendElement(std::string* out, const Literal& literal, int64_t index) {
  const PrimitiveType type = literal.shape().element_type;
  switch (type) {
    case PrimitiveType::kPred:
      *out += literal.data<uint8_t>()[index] != 0 ? "true" : "false";
      return;
    case PrimitiveType::kU64:
      StrAppend(out, literal.data<uint64_t>()[index]);
      return;
    case PrimitiveType::kF32:
      return AppendRealBits(out, type, literal.data<float>()[index]);
    case PrimitiveType::kF64:
      return AppendRealBits(out, type, literal.data<double>()[index]);
    case PrimitiveType::kC64:
    case PrimitiveType::kC128: {
      *out += '(';
      for (int i = 0; i < 2; ++i) {
        if (i > 0) *out += ", ";
        if (type == PrimitiveType::kC64) {
          AppendRealBits(out, type, literal.data<float>()[2 * index + i]);
        } else {
          AppendRealBits(out, type, literal.data<double>()[2 * index + i]);
        }
      }
      *out += ')';
      return;
    }
    default:
      break;
  }
  if (!IsFloat(type)) {
    StrAppend(out, literal.GetInteger(index));
    return;
  }
  const double value = literal.GetDouble(index);
  if (std::isnan(value)) {
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(literal.raw()) + index * StorageBytes(type), StorageBytes(type));
    AppendNan(out, type, bits);
  } else {
    AppendFloat(out, static_cast<float>(value));
  }
}

}  // namespace

void AppendLiteral(std::string* out, const Literal& literal) {
  const Shape& shape = literal.shape();
  if (shape.IsTuple()) {
    *out += '(';
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      if (i > 0) *out += ", ";
      AppendLiteral(out, literal.elements()[i]);
    }
    *out += ')';
    return;
  }
  const int64_t rank = shape.rank(), count = literal.element_count();
  if (rank == 0) return AppendElement(out, literal, 0);
  if (count == 0) {
    // Braces down to the first empty dimension; a few million empty ones are no help to anybody.
    int64_t braces = 1;
    for (int64_t d = 0; d < rank && shape.dimensions[d] != 0; ++d) braces *= shape.dimensions[d];
    if (braces > 1'000'000) {
      *out += "{}";
      return;
    }
    int64_t open = 0;
    std::vector<int64_t> position(rank, 0);
    *out += '{';
    for (;;) {
      if (shape.dimensions[open] != 0 && position[open] < shape.dimensions[open]) {
        if (position[open] > 0) *out += ", ";
        ++position[open++];
        position[open] = 0;
        *out += '{';
        continue;
      }
      *out += '}';
      if (open-- == 0) return;
    }
  }
  // Odometer over the dimensions: `index` is a multiple of the sizes of the dimensions that open or close here.
  for (int64_t index = 0; index < count; ++index) {
    int64_t block = 1, opened = 0;
    for (int64_t d = rank - 1; d >= 0; --d) {
      block *= shape.dimensions[d];
      if (index % block != 0) break;
      ++opened;
    }
    if (index > 0) *out += ", ";
    out->append(opened, '{');
    AppendElement(out, literal, index);
    block = 1;
    for (int64_t d = rank - 1; d >= 0; --d) {
      block *= shape.dimensions[d];
      if ((index + 1) % block != 0) break;
      *out += '}';
    }
  }
}

}  // namespace smelt::hlo::text

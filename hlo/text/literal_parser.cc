#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/str_cat.h"
#include "hlo/text/literal_text.h"
#include "hlo/text/nan_payload.h"
#include "hlo/text/shape_text.h"

namespace smelt::hlo::text {
namespace {

// One real number of a float or complex type: a value, or the bits of a NaN.
struct Real {
  double value = 0;
  bool is_nan = false;
  bool negative_nan = false;
  uint64_t payload = 0;  // 0: the type's quiet NaN
};

uint64_t NanBits(PrimitiveType type, const Real& real) {
  const int width = RealBits(type), mantissa = NanPayloadBits(type);
  const uint64_t payload = real.payload != 0 ? real.payload : uint64_t{1} << (mantissa - 1);
  const uint64_t exponent = ((uint64_t{1} << (width - 1 - mantissa)) - 1) << mantissa;
  return exponent | payload | (real.negative_nan ? uint64_t{1} << (width - 1) : 0);
}

bool ParseNanPayload(Scanner& scanner, PrimitiveType type, Real* real) {
  scanner.Expect('(');
  const char* at = scanner.at();
  if (!scanner.Try(std::string_view("0x")) && scanner.Here() != '0') return scanner.Fail("a payload such as 0x7f");
  if (scanner.Here() == '0' && scanner.end() - scanner.at() > 2 && scanner.at()[1] == 'x')
    scanner.set_at(scanner.at() + 2);
  const auto [stop, code] = std::from_chars(scanner.at(), scanner.end(), real->payload, 16);
  if (code != std::errc()) return scanner.FailAt(at, "a payload such as 0x7f");
  scanner.set_at(stop);
  const int bits = NanPayloadBits(type);
  const uint64_t limit = bits == 0 ? 0 : (uint64_t{1} << bits) - 1;
  if (real->payload == 0 || real->payload > limit) {
    return scanner.FailAt(at,
                          bits == 0 ? StrCat("no NaN payload, since ", PrimitiveTypeName(type), " has one NaN")
                                    : StrCat("a NaN payload from 0x1 to 0x", absl::Hex(limit)),
                          StrCat("0x", absl::Hex(real->payload)));
  }
  return scanner.Expect(')');
}

bool ParseReal(Scanner& scanner, PrimitiveType type, Real* real) {
  const char* start = (scanner.SkipSpace(), scanner.at());
  const char first = scanner.Here();
  const bool minus = first == '-';
  const char lead = minus && scanner.end() - start > 1 ? start[1] : first;
  if (lead == 'i' || lead == 'n' || lead == 't' || lead == 'f') {
    if (minus) scanner.set_at(start + 1);
    const std::string_view word = scanner.TryWord();
    if (word == "inf") {
      real->value = minus ? -HUGE_VAL : HUGE_VAL;
      return true;
    }
    if (word == "nan") {
      real->is_nan = true;
      real->negative_nan = minus;
      return scanner.Here() != '(' || ParseNanPayload(scanner, type, real);
    }
    if (!minus && (word == "true" || word == "false")) {
      real->value = word == "true";
      return true;
    }
    return scanner.FailAt(start, "a number");
  }
  if (!scanner.Float(&real->value)) return false;
  // To XLA a number without point and exponent is an integer, and integers have no negative zero.
  if (real->value == 0 && minus && scanner.From(start).find_first_of(".eE") == std::string_view::npos) real->value = 0;
  return true;
}

bool OutOfRange(Scanner& scanner, const char* at, PrimitiveType type) {
  return scanner.FailAt(at, StrCat("a value within the range of ", PrimitiveTypeName(type)));
}

bool SetReal(Scanner& scanner, const char* at, const Real& real, PrimitiveType type, int64_t index, Literal* literal) {
  if (type == PrimitiveType::kF32) {
    float* data = literal->data<float>().data() + index;
    if (real.is_nan) {
      const uint32_t bits = static_cast<uint32_t>(NanBits(type, real));
      std::memcpy(data, &bits, sizeof(bits));
      return true;
    }
    *data = static_cast<float>(real.value);
    return std::isfinite(*data) || !std::isfinite(real.value) || OutOfRange(scanner, at, type);
  }
  if (type == PrimitiveType::kF64) {
    double* data = literal->data<double>().data() + index;
    *data = real.value;
    if (real.is_nan) {
      const uint64_t bits = NanBits(type, real);
      std::memcpy(data, &bits, sizeof(bits));
    }
    return true;
  }
  if (real.is_nan && NanPayloadBits(type) > 0) {
    const uint64_t bits = NanBits(type, real);
    std::memcpy(static_cast<char*>(literal->raw()) + index * StorageBytes(type), &bits, StorageBytes(type));
    return true;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  literal->SetDouble(index, real.is_nan ? std::copysign(nan, real.negative_nan ? -1.0 : 1.0) : real.value);
  if (real.is_nan || !std::isfinite(real.value)) return true;
  return std::isfinite(literal->GetDouble(index)) || OutOfRange(scanner, at, type);
}

template <typename Part>
bool ParseComplexElement(Scanner& scanner, PrimitiveType type, int64_t index, Literal* literal) {
  Real parts[2];
  const char* at[2];  // where each stands
  const auto read = [&](int part) {
    scanner.SkipSpace();
    at[part] = scanner.at();
    return ParseReal(scanner, type, &parts[part]);
  };
  if (scanner.Try('(')) {
    if (!read(0) || !scanner.Expect(',') || !read(1) || !scanner.Expect(')')) return false;
  } else if (!read(0)) {
    return false;
  }
  Part* data = literal->data<Part>().data() + 2 * index;
  for (int i = 0; i < 2; ++i) {
    data[i] = static_cast<Part>(parts[i].value);
    if (parts[i].is_nan) {
      const uint64_t bits = NanBits(type, parts[i]);
      std::memcpy(&data[i], &bits, sizeof(Part));
    } else if (!std::isfinite(data[i]) && std::isfinite(parts[i].value)) {
      return OutOfRange(scanner, at[i], type);
    }
  }
  return true;
}

bool ParseIntegerElement(Scanner& scanner, PrimitiveType type, int64_t index, Literal* literal) {
  const char* at = (scanner.SkipSpace(), scanner.at());
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(at, scanner.end(), value);
  if (code == std::errc() && stop != scanner.end() && (*stop == '.' || *stop == 'e' || *stop == 'E')) {
    return scanner.Fail(StrCat("an integer, since the constant is ", PrimitiveTypeName(type)));
  }
  if (code == std::errc::result_out_of_range && type == PrimitiveType::kU64 && *at != '-') {
    uint64_t wide = 0;
    const auto [wide_stop, wide_code] = std::from_chars(at, scanner.end(), wide);
    if (wide_code != std::errc()) return OutOfRange(scanner, at, type);
    scanner.set_at(wide_stop);
    literal->data<uint64_t>()[index] = wide;
    return true;
  }
  if (code == std::errc::result_out_of_range) return OutOfRange(scanner, at, type);
  if (code != std::errc()) {
    const std::string_view word = scanner.TryWord();
    if (word != "true" && word != "false") {
      scanner.set_at(at);
      return scanner.Fail(StrCat("an integer, since the constant is ", PrimitiveTypeName(type)));
    }
    value = word == "true";
  } else {
    scanner.set_at(stop);
  }
  switch (type) {
    case PrimitiveType::kS32:
      literal->data<int32_t>()[index] = static_cast<int32_t>(value);
      return value == static_cast<int32_t>(value) || OutOfRange(scanner, at, type);
    case PrimitiveType::kS64:
      literal->data<int64_t>()[index] = value;
      return true;
    case PrimitiveType::kU64:  // a negative number wraps, as in XLA
      literal->data<uint64_t>()[index] = static_cast<uint64_t>(value);
      return true;
    case PrimitiveType::kPred:
      literal->data<uint8_t>()[index] = value != 0;  // any other number is true, as in XLA
      return true;
    default: {
      const int bits = BitWidth(type);
      const int64_t low = IsSigned(type) ? -(int64_t{1} << (bits - 1)) : 0;
      const int64_t high = IsSigned(type) ? -(low + 1) : (int64_t{1} << bits) - 1;
      if (value < low || value > high) return OutOfRange(scanner, at, type);
      literal->SetInteger(index, value);
      return true;
    }
  }
}

bool ParseElement(Scanner& scanner, PrimitiveType type, int64_t index, Literal* literal) {
  if (type == PrimitiveType::kC64) return ParseComplexElement<float>(scanner, type, index, literal);
  if (type == PrimitiveType::kC128) return ParseComplexElement<double>(scanner, type, index, literal);
  if (!IsFloat(type)) return ParseIntegerElement(scanner, type, index, literal);
  const char* at = (scanner.SkipSpace(), scanner.at());
  Real real;
  return ParseReal(scanner, type, &real) && SetReal(scanner, at, real, type, index, literal);
}

bool FillElided(Scanner& scanner, ConstantFill& values, Literal* literal) {
  const int64_t bytes = literal->byte_size();
  const uint32_t mask = literal->shape().element_type == PrimitiveType::kPred ? 0x01010101u : ~0u;
  uint32_t* words = static_cast<uint32_t*>(literal->raw());
  for (int64_t i = 0; i < bytes / 4; ++i) words[i] = values.next_word++ & mask;
  // XLA puts the odd bytes after the first bytes / 4, not after the words. Whoever compares values has to do it, too.
  uint8_t* odd = static_cast<uint8_t*>(literal->raw()) + bytes / 4;
  for (int64_t i = 0; i < bytes % 4; ++i) odd[i] = values.next_byte++ & mask;
  // Sub-byte elements keep only the bits they have.
  const PrimitiveType type = literal->shape().element_type;
  if (BitWidth(type) < 8) {
    uint8_t* data = static_cast<uint8_t*>(literal->raw());
    for (int64_t i = 0; i < bytes; ++i) {
      data[i] &= (1u << BitWidth(type)) - 1;
      if (IsSigned(type))
        literal->SetInteger(i, static_cast<int8_t>(data[i] << (8 - BitWidth(type))) >> (8 - BitWidth(type)));
    }
  }
  return !scanner.failed();
}

// f32[2,3] constant(1): as XLA reads it, the value is the first element's and the others are zero.
bool FillFirstElement(Scanner& scanner, Literal* literal) {
  if (literal->element_count() == 0)
    return scanner.Fail(StrCat("`{`: there are no values of ", literal->shape().ToString()));
  return ParseElement(scanner, literal->shape().element_type, 0, literal);
}

// Walks over the nested braces. Commas are skipped wherever they stand, as in XLA; braces and counts must be right.
bool ParseDense(Scanner& scanner, const Shape& shape, Literal* literal) {
  const int64_t rank = shape.rank();
  const int64_t count = literal->element_count();
  if (rank == 0) return ParseElement(scanner, shape.element_type, 0, literal);
  std::vector<int64_t> seen(rank);
  int64_t depth = 0, index = 0;
  do {
    const char c = scanner.Peek();
    if (c == '{') {
      if (depth == rank) {
        return scanner.Fail(StrCat("values at ", rank, " levels of braces, since the constant is ", shape.ToString()));
      }
      if (depth > 0) ++seen[depth - 1];
      seen[depth++] = 0;
      scanner.set_at(scanner.at() + 1);
    } else if (c == '}') {
      if (depth == 0) return scanner.Fail("`{`");
      --depth;
      // Empty arrays are printed without their inner braces.
      const bool empty_below = count == 0 && seen[depth] == 0;
      if (seen[depth] != shape.dimensions[depth] && !empty_below) {
        return scanner.Fail(StrCat(shape.dimensions[depth], " elements in dimension ", depth, " of ", shape.ToString(),
                                   " instead of ", seen[depth]));
      }
      scanner.set_at(scanner.at() + 1);
    } else if (c == ',') {
      scanner.set_at(scanner.at() + 1);
    } else {
      if (depth != rank) {
        return scanner.Fail(
            StrCat("`{`: values of ", shape.ToString(), " stand at ", rank, " levels of braces, not ", depth));
      }
      // The innermost run of values, without a look at the braces in between.
      const int64_t size = shape.dimensions[rank - 1];
      for (;;) {
        if (seen[rank - 1] == size || index == count) {
          return scanner.Fail(StrCat("`}` after ", size, " elements of ", shape.ToString()));
        }
        if (!ParseElement(scanner, shape.element_type, index, literal)) return false;
        ++index;
        ++seen[rank - 1];
        if (!scanner.Try(',')) break;
        const char next = scanner.Peek();
        if (next == '}' || next == '{' || next == ',') break;
      }
    }
  } while (depth > 0);
  return index == count || scanner.Fail(StrCat(count, " elements of ", shape.ToString(), " instead of ", index));
}

bool ParseTuple(Scanner& scanner, const Shape& shape, ConstantFill& fill, Literal* literal, bool* elided, int depth) {
  if (!scanner.Expect('(')) return false;
  std::vector<Literal> elements;
  elements.reserve(shape.tuple_shapes.size());
  for (const Shape& element : shape.tuple_shapes) {
    if (!elements.empty() && !scanner.Expect(',')) return false;
    // Each element may repeat its shape.
    if (scanner.Peek() != '(' && AtShape(scanner)) {
      const char* at = scanner.at();
      Shape written;
      if (!ParseShape(scanner, &written)) return false;
      if (!written.SameAs(element)) return scanner.FailAt(at, element.ToString(), written.ToString());
    }
    if (!ParseLiteral(scanner, element, fill, &elements.emplace_back(), elided, depth + 1)) return false;
  }
  *literal = Literal::Tuple(std::move(elements));
  return scanner.Expect(')');
}

}  // namespace

bool ParseLiteral(Scanner& scanner, const Shape& shape, ConstantFill& fill, Literal* literal, bool* elided, int depth) {
  if (depth > kNestingLimit) return scanner.Fail(StrCat("at most ", kNestingLimit, " nested tuples"));
  if (shape.IsTuple()) return ParseTuple(scanner, shape, fill, literal, elided, depth);
  if (!shape.IsArray()) return scanner.Fail(StrCat("a constant of an array type, not of ", shape.ToString()));
  if (shape.IsDynamic()) return scanner.Fail(StrCat("a constant of fixed size, not of ", shape.ToString()));
  const char* start = (scanner.SkipSpace(), scanner.at());
  bool dots = false;
  if (scanner.Here() == '{') {
    scanner.set_at(start + 1);
    dots = scanner.Try(std::string_view("...")) && scanner.Try('}');
    if (!dots) scanner.set_at(start);
  }
  const int64_t count = shape.ElementCount();
  const bool first_only = shape.rank() > 0 && scanner.Here() != '{';
  if (dots || first_only) {
    if (shape.ByteSize() > fill.bytes_left) {
      return scanner.FailAt(start, "constants without values of at most 512 MiB in all", shape.ToString());
    }
    fill.bytes_left -= shape.ByteSize();
  } else if (count > scanner.end() - start) {
    // Each element takes a character at least: what cannot be there is not allocated.
    return scanner.FailAt(start, StrCat(count, " values of ", shape.ToString()), "a shorter text");
  }
  absl::StatusOr<Literal> created = Literal::Create(shape);
  if (!created.ok()) return scanner.FailAt(start, "a constant that fits in memory", shape.ToString());
  *literal = std::move(created).value();
  if (dots) {
    *elided = true;
    return FillElided(scanner, fill, literal);
  }
  if (first_only) return FillFirstElement(scanner, literal);
  return ParseDense(scanner, shape, literal);
}

}  // namespace smelt::hlo::text

#include "hlo/small_float.h"

#include <array>

#include "base/check.h"

namespace smelt::hlo {
namespace {

using Special = FloatFormat::Special;

struct TypedFormat {
  PrimitiveType type;
  FloatFormat format;
};

constexpr TypedFormat kFormats[] = {
    {PrimitiveType::kF16, {5, 10, 15, Special::kIeee}},
    {PrimitiveType::kBF16, {8, 7, 127, Special::kIeee}},
    {PrimitiveType::kF32, {8, 23, 127, Special::kIeee}},
    {PrimitiveType::kF64, {11, 52, 1023, Special::kIeee}},
    {PrimitiveType::kF8E5M2, {5, 2, 15, Special::kIeee}},
    {PrimitiveType::kF8E4M3, {4, 3, 7, Special::kIeee}},
    {PrimitiveType::kF8E4M3FN, {4, 3, 7, Special::kFinite}},
    {PrimitiveType::kF8E4M3B11FNUZ, {4, 3, 11, Special::kUnsignedZero}},
    {PrimitiveType::kF8E5M2FNUZ, {5, 2, 16, Special::kUnsignedZero}},
    {PrimitiveType::kF8E4M3FNUZ, {4, 3, 8, Special::kUnsignedZero}},
    {PrimitiveType::kF8E3M4, {3, 4, 3, Special::kIeee}},
    {PrimitiveType::kF8E8M0FNU, {8, 0, 127, Special::kExponentOnly}},
    {PrimitiveType::kF4E2M1FN, {2, 1, 1, Special::kNone}},
    {PrimitiveType::kF6E3M2FN, {3, 2, 3, Special::kNone}},
    {PrimitiveType::kF6E2M3FN, {2, 3, 1, Special::kNone}},
};

constexpr int kDoubleBias = 1023;
constexpr int kDoubleMantissaBits = 52;
constexpr uint64_t kDoubleSign = uint64_t{1} << 63;
constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << kDoubleMantissaBits;

// A double of which only the bits are touched, so that flush-to-zero never applies.
double MakeDouble(uint64_t sign, int exponent, uint64_t mantissa, int mantissa_bits) {
  return std::bit_cast<double>((sign << 63) | (static_cast<uint64_t>(exponent + kDoubleBias) << kDoubleMantissaBits) |
                               (mantissa << (kDoubleMantissaBits - mantissa_bits)));
}

double DecodeToDouble(const FloatFormat& format, uint64_t bits) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const double nan = std::bit_cast<double>(kDoubleInfinity | uint64_t{1} << (kDoubleMantissaBits - 1));
  if (format.special == Special::kExponentOnly) {
    return bits == 0xff ? nan : MakeDouble(0, static_cast<int>(bits) - format.bias, 0, 0);
  }
  const uint64_t sign = bits >> width & 1;
  const uint64_t magnitude = bits & ((uint64_t{1} << width) - 1);
  const uint64_t mantissa_mask = (uint64_t{1} << format.mantissa_bits) - 1;
  const uint64_t mantissa = magnitude & mantissa_mask;
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint64_t sign_bit = sign << 63;
  switch (format.special) {
    case Special::kIeee:
      if (exponent == (1 << format.exponent_bits) - 1) {
        return std::bit_cast<double>(sign_bit | kDoubleInfinity |
                                     mantissa << (kDoubleMantissaBits - format.mantissa_bits));
      }
      break;
    case Special::kFinite:
      if (magnitude == (uint64_t{1} << width) - 1)
        return std::bit_cast<double>(sign_bit | std::bit_cast<uint64_t>(nan));
      break;
    case Special::kUnsignedZero:
      if (sign == 1 && magnitude == 0) return nan;
      break;
    case Special::kNone:
    case Special::kExponentOnly:
      break;
  }
  if (magnitude == 0) return std::bit_cast<double>(sign_bit);
  if (exponent == 0) {
    const int top = std::bit_width(mantissa) - 1;  // a subnormal: its highest bit becomes the implicit one
    return MakeDouble(sign, 1 - format.bias - format.mantissa_bits + top, mantissa ^ (uint64_t{1} << top), top);
  }
  return MakeDouble(sign, exponent - format.bias, mantissa, format.mantissa_bits);
}

uint16_t NaNBits(const FloatFormat& format, uint16_t sign) {
  const int width = format.exponent_bits + format.mantissa_bits;
  switch (format.special) {
    case Special::kIeee:
      return static_cast<uint16_t>(sign << width | ((1 << format.exponent_bits) - 1) << format.mantissa_bits |
                                   1 << (format.mantissa_bits - 1));
    case Special::kFinite:
      return static_cast<uint16_t>(sign << width | ((1 << width) - 1));
    case Special::kUnsignedZero:
    case Special::kNone:
      return static_cast<uint16_t>(1 << width);
    case Special::kExponentOnly:
      return 0xff;
  }
  return 0;
}

uint16_t OverflowBits(const FloatFormat& format, uint16_t sign) {
  const int width = format.exponent_bits + format.mantissa_bits;
  switch (format.special) {
    case Special::kIeee:
      return static_cast<uint16_t>(sign << width | ((1 << format.exponent_bits) - 1) << format.mantissa_bits);
    case Special::kNone:
      return static_cast<uint16_t>(sign << width | ((1 << width) - 1));
    default:
      return NaNBits(format, sign);
  }
}

// Largest pattern below the sign that is a finite number.
uint64_t LargestFinite(const FloatFormat& format) {
  const uint64_t all = (uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.special) {
    case Special::kIeee:
      return all - (uint64_t{1} << format.mantissa_bits);
    case Special::kFinite:
    case Special::kExponentOnly:
      return all - 1;
    default:
      return all;
  }
}

// Powers of two, as XLA rounds to them: the middle of two goes up, and above the smallest one everything does.
uint16_t EncodePower(const FloatFormat& format, uint64_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> kDoubleMantissaBits) - kDoubleBias + format.bias;
  if (exponent < 0) return 0;
  const uint64_t rest = magnitude & ((uint64_t{1} << kDoubleMantissaBits) - 1);
  const bool up = exponent == 0 ? rest > 0 : rest >= uint64_t{1} << (kDoubleMantissaBits - 1);
  const uint64_t pattern = static_cast<uint64_t>(exponent) + (up ? 1 : 0);
  return pattern > LargestFinite(format) ? OverflowBits(format, 0) : static_cast<uint16_t>(pattern);
}

uint16_t Encode(const FloatFormat& format, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63);
  const uint64_t magnitude = bits & ~kDoubleSign;
  if (magnitude > kDoubleInfinity) return NaNBits(format, sign);
  if (magnitude == kDoubleInfinity) return OverflowBits(format, sign);
  if (format.special == Special::kExponentOnly)
    return sign == 1 || magnitude == 0 ? NaNBits(format, sign) : EncodePower(format, magnitude);
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint16_t sign_bits = static_cast<uint16_t>(sign << width);

  uint64_t pattern = 0;
  if (magnitude >> kDoubleMantissaBits != 0) {  // subnormal doubles are below half of every format's smallest value
    const int exponent = static_cast<int>(magnitude >> kDoubleMantissaBits) - kDoubleBias + format.bias;
    uint64_t mantissa = magnitude & ((uint64_t{1} << kDoubleMantissaBits) - 1);
    int shift = kDoubleMantissaBits - format.mantissa_bits;
    if (exponent < 1) {
      mantissa |= uint64_t{1} << kDoubleMantissaBits;
      shift += 1 - exponent;
    } else {
      mantissa |= static_cast<uint64_t>(exponent) << kDoubleMantissaBits;
    }
    if (shift < 64) {
      pattern = mantissa >> shift;
      const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1);
      const uint64_t half = uint64_t{1} << (shift - 1);
      if (rest > half || (rest == half && (pattern & 1))) ++pattern;
    }
  }
  if (pattern > LargestFinite(format)) return OverflowBits(format, sign);
  if (pattern == 0 && format.special == Special::kUnsignedZero) return 0;
  return static_cast<uint16_t>(sign_bits | pattern);
}

// The values of the formats of at most 8 bits.
const std::array<float, 256>& DecodeTable(PrimitiveType type) {
  using Tables = std::array<std::array<float, 256>, std::size(kFormats)>;
  static const Tables& tables = *[] {
    auto* built = new Tables();
    for (size_t f = 0; f < std::size(kFormats); ++f) {
      const FloatFormat& format = kFormats[f].format;
      if (BitWidth(kFormats[f].type) > 8) continue;
      for (int bits = 0; bits < 256; ++bits) {
        const int used = format.special == Special::kExponentOnly ? 8 : format.exponent_bits + format.mantissa_bits + 1;
        const uint64_t wide = std::bit_cast<uint64_t>(DecodeToDouble(format, bits & ((1 << used) - 1)));
        // To f32 on bits as well: 2^-127 of f8e8m0fnu is an f32 subnormal, which flush-to-zero must not touch.
        const uint32_t sign = static_cast<uint32_t>(wide >> 63) << 31;
        const int exponent = static_cast<int>(wide >> 52 & 0x7ff) - kDoubleBias;
        const uint32_t mantissa = static_cast<uint32_t>(wide >> 29 & 0x7fffff);
        uint32_t narrow = sign | static_cast<uint32_t>(exponent + 127) << 23 | mantissa;
        if ((wide & ~kDoubleSign) == 0) narrow = sign;
        if (exponent == 1024) narrow = sign | 0x7f800000 | mantissa;
        if (exponent == -127 && (wide & ~kDoubleSign) != 0) narrow = sign | 0x400000;
        (*built)[f][bits] = std::bit_cast<float>(narrow);
      }
    }
    return built;
  }();
  for (size_t f = 0; f < std::size(kFormats); ++f) {
    if (kFormats[f].type == type) return tables[f];
  }
  return tables[0];
}

// Exact, and on bits: a hardware conversion would flush subnormals in that mode.
double Widen(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return DecodeToDouble({8, 23, 127, Special::kIeee}, bits);
}

}  // namespace

const FloatFormat& GetFloatFormat(PrimitiveType type) {
  for (const TypedFormat& entry : kFormats) {
    if (entry.type == type) return entry.format;
  }
  Check(false, "the format of a type that is not a float");
  return kFormats[0].format;
}

float Float16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int top = std::bit_width(mantissa) - 1;
  return std::bit_cast<float>(sign | static_cast<uint32_t>(103 + top) << 23 | (mantissa << (23 - top) & 0x7fffff));
}

uint16_t FloatToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | static_cast<uint16_t>(magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and beyond round to infinity
  if (magnitude >= 0x38800000) {                      // normal in f16
    const uint32_t rebased = magnitude - (112u << 23);
    return sign | static_cast<uint16_t>((rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
  }
  if (magnitude <= 0x33000000) return sign;  // at most half of the smallest subnormal
  const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  const int shift = 126 - static_cast<int>(magnitude >> 23);
  const uint32_t half = 1u << (shift - 1);
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  uint32_t pattern = mantissa >> shift;
  if (rest > half || (rest == half && (pattern & 1))) ++pattern;
  return sign | static_cast<uint16_t>(pattern);
}

float DecodeFloat(PrimitiveType type, uint16_t bits) {
  if (type == PrimitiveType::kBF16) return BFloat16ToFloat(bits);
  if (type == PrimitiveType::kF16) return Float16ToFloat(bits);
  return DecodeTable(type)[bits & 0xff];
}

uint16_t EncodeFloat(PrimitiveType type, double value) { return Encode(GetFloatFormat(type), value); }

void DecodeFloats(PrimitiveType type, const void* from, float* to, int64_t count) {
  if (type == PrimitiveType::kBF16) {
    const auto* source = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = BFloat16ToFloat(source[i]);
  } else if (type == PrimitiveType::kF16) {
    const auto* source = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = Float16ToFloat(source[i]);
  } else {
    const auto& table = DecodeTable(type);
    const auto* source = static_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = table[source[i]];
  }
}

void EncodeFloats(PrimitiveType type, const float* from, void* to, int64_t count) {
  if (type == PrimitiveType::kBF16) {
    auto* target = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = FloatToBFloat16(from[i]);
  } else if (type == PrimitiveType::kF16) {
    auto* target = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = FloatToFloat16(from[i]);
  } else {
    const FloatFormat& format = GetFloatFormat(type);
    auto* target = static_cast<uint8_t*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<uint8_t>(Encode(format, Widen(from[i])));
  }
}

void EncodeFloats(PrimitiveType type, const double* from, void* to, int64_t count) {
  const FloatFormat& format = GetFloatFormat(type);
  const bool wide = BitWidth(type) > 8;
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t bits = Encode(format, from[i]);
    if (wide) {
      static_cast<uint16_t*>(to)[i] = bits;
    } else {
      static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(bits);
    }
  }
}

}  // namespace smelt::hlo

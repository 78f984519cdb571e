// The element types that operations work on, and the C++ types that hold them.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace smelt::runtime::native {

enum class ElementType : uint8_t {
  kPred,  // a byte, 0 or 1
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
};

// 16-bit storage whose arithmetic goes through float, rounded to nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    bits = (wide & 0x7fffffff) > 0x7f800000 ? static_cast<uint16_t>(wide >> 16 | 0x40)
                                            : static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#ifdef __aarch64__
using CompilersFloat16 = __fp16;  // C++ of GCC before 13 knows no _Float16 there
#else
using CompilersFloat16 = _Float16;
#endif
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(std::bit_cast<uint16_t>(static_cast<CompilersFloat16>(value))) {}
  explicit operator float() const { return static_cast<float>(std::bit_cast<CompilersFloat16>(bits)); }
};
#pragma GCC diagnostic pop

template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

// Calls visit with a value of the C++ type of `type`; a pred is a bool, which is a byte here.
template <typename Visit>
decltype(auto) VisitType(ElementType type, const Visit& visit) {
  static_assert(sizeof(bool) == 1);
  switch (type) {
    case ElementType::kPred:
      return visit(bool{});
    case ElementType::kS8:
      return visit(int8_t{});
    case ElementType::kS16:
      return visit(int16_t{});
    case ElementType::kS32:
      return visit(int32_t{});
    case ElementType::kS64:
      return visit(int64_t{});
    case ElementType::kU8:
      return visit(uint8_t{});
    case ElementType::kU16:
      return visit(uint16_t{});
    case ElementType::kU32:
      return visit(uint32_t{});
    case ElementType::kU64:
      return visit(uint64_t{});
    case ElementType::kF16:
      return visit(Float16{});
    case ElementType::kBF16:
      return visit(BFloat16{});
    case ElementType::kF32:
      return visit(float{});
    case ElementType::kF64:
      return visit(double{});
    case ElementType::kC64:
      return visit(std::complex<float>{});
    default:
      return visit(std::complex<double>{});
  }
}

inline int64_t BytesOf(ElementType type) {
  return VisitType(type, [](auto zero) { return static_cast<int64_t>(sizeof(zero)); });
}

}  // namespace smelt::runtime::native

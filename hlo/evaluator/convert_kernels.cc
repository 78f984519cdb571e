// Conversions between element types, comparisons and selects: loops keyed by more than one opcode and type.
#pragma GCC optimize("O3")

#include <bit>
#include <cmath>
#include <limits>

#include "hlo/evaluator/kernel_table.h"

namespace smelt::hlo {
namespace {

template <typename T>
struct IsComplexType : std::false_type {};
template <typename T>
struct IsComplexType<std::complex<T>> : std::true_type {};

// Saturates; NaN gives 0.
template <typename To, typename From>
To FloatToInteger(From value) {
  // The bounds as floats: the lower one is exact, the upper one is the first value that does not fit.
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From kBeyond = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (!(value >= kLow)) return value != value ? To{0} : std::numeric_limits<To>::min();
  if (value >= kBeyond) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename To, typename From>
To ConvertElement(From value) {
  if constexpr (IsComplexType<From>::value) {
    if constexpr (IsComplexType<To>::value) {
      return To(static_cast<typename To::value_type>(value.real()), static_cast<typename To::value_type>(value.imag()));
    } else {
      return ConvertElement<To>(value.real());
    }
  } else if constexpr (IsComplexType<To>::value) {
    return To(ConvertElement<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<From, Pred>) {
    return ConvertElement<To>(value.value);
  } else if constexpr (std::is_same_v<To, Pred>) {
    return Pred{static_cast<uint8_t>(value != From{0})};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void ConvertLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const From* a = static_cast<const From*>(operands[0]);
  To* r = static_cast<To*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = ConvertElement<To>(a[i]);
}

using ConvertTable = ElementwiseKernel::Function[kComputeTypes][kComputeTypes];

template <typename From, typename... To>
void AddConversionsFrom(ConvertTable& table) {
  ((table[static_cast<int>(TypeOf<From>())][static_cast<int>(TypeOf<To>())] = &ConvertLoop<From, To>), ...);
}
template <typename... Ts>
void AddConversions(ConvertTable& table) {
  (AddConversionsFrom<Ts, Ts...>(table), ...);
}

struct Bits128 {
  uint64_t low, high;
};

template <typename T>
void SelectLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const auto* condition = static_cast<const uint8_t*>(operands[0]);
  const T* on_true = static_cast<const T*>(operands[1]);
  const T* on_false = static_cast<const T*>(operands[2]);
  T* r = static_cast<T*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = condition[i] != 0 ? on_true[i] : on_false[i];
}

// Maps a float to an integer in the total order -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN.
template <typename T>
auto TotalOrder(T value) {
  using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const Integer bits = std::bit_cast<Integer>(value);
  return bits < 0 ? static_cast<Integer>(bits ^ std::numeric_limits<Integer>::max()) : bits;
}

// Complex numbers as XLA:CPU orders them: < and > by the real and then by the imaginary part, <= and >= by the real
// part.
template <ComparisonDirection kDirection, typename T>
bool Holds(const std::complex<T>& a, const std::complex<T>& b) {
  if constexpr (kDirection == ComparisonDirection::kEq) return a == b;
  if constexpr (kDirection == ComparisonDirection::kNe) return a != b;
  if constexpr (kDirection == ComparisonDirection::kGe) return a.real() >= b.real();
  if constexpr (kDirection == ComparisonDirection::kLe) return a.real() <= b.real();
  if constexpr (kDirection == ComparisonDirection::kGt)
    return a.real() == b.real() ? a.imag() > b.imag() : a.real() > b.real();
  if constexpr (kDirection == ComparisonDirection::kLt)
    return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

template <ComparisonDirection kDirection, typename T>
bool Holds(const T& a, const T& b) {
  if constexpr (kDirection == ComparisonDirection::kEq) return a == b;
  if constexpr (kDirection == ComparisonDirection::kNe) return a != b;
  if constexpr (kDirection == ComparisonDirection::kGe) return a >= b;
  if constexpr (kDirection == ComparisonDirection::kGt) return a > b;
  if constexpr (kDirection == ComparisonDirection::kLe) return a <= b;
  if constexpr (kDirection == ComparisonDirection::kLt) return a < b;
}

template <ComparisonDirection kDirection, typename T, bool kTotal>
void CompareLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const T* a = static_cast<const T*>(operands[0]);
  const T* b = static_cast<const T*>(operands[1]);
  auto* r = static_cast<uint8_t*>(result);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kTotal) {
      r[i] = Holds<kDirection>(TotalOrder(a[i]), TotalOrder(b[i]));
    } else {
      r[i] = Holds<kDirection>(a[i], b[i]);
    }
  }
}

template <typename T, bool kTotal = false>
ElementwiseKernel::Function CompareByDirection(ComparisonDirection direction) {
  using enum ComparisonDirection;
  switch (direction) {
    case kEq:
      return &CompareLoop<kEq, T, kTotal>;
    case kNe:
      return &CompareLoop<kNe, T, kTotal>;
    case kGe:
      return &CompareLoop<kGe, T, kTotal>;
    case kGt:
      return &CompareLoop<kGt, T, kTotal>;
    case kLe:
      return &CompareLoop<kLe, T, kTotal>;
    case kLt:
      return &CompareLoop<kLt, T, kTotal>;
    default:
      return nullptr;
  }
}

}  // namespace

ElementwiseKernel::Function FindConvertLoop(PrimitiveType from, PrimitiveType to) {
  static const ConvertTable& table = *[] {
    auto* built = new ConvertTable[1]();
    AddConversions<Pred, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double,
                   std::complex<float>, std::complex<double>>(*built);
    return built;
  }();
  return table[static_cast<int>(from)][static_cast<int>(to)];
}

ElementwiseKernel::Function FindSelectLoop(PrimitiveType type) {
  switch (StorageBytes(type)) {
    case 1:
      return &SelectLoop<uint8_t>;
    case 2:
      return &SelectLoop<uint16_t>;
    case 4:
      return &SelectLoop<uint32_t>;
    case 8:
      return &SelectLoop<uint64_t>;
    case 16:
      return &SelectLoop<Bits128>;
    default:
      return nullptr;
  }
}

ElementwiseKernel::Function FindCompareLoop(const CompareAttributes& attributes, PrimitiveType type) {
  const bool total = attributes.type == ComparisonType::kFloatTotalOrder;
  switch (type) {
    case PrimitiveType::kF32:
      return total ? CompareByDirection<float, true>(attributes.direction)
                   : CompareByDirection<float>(attributes.direction);
    case PrimitiveType::kF64:
      return total ? CompareByDirection<double, true>(attributes.direction)
                   : CompareByDirection<double>(attributes.direction);
    case PrimitiveType::kPred:
    case PrimitiveType::kU8:
      return CompareByDirection<uint8_t>(attributes.direction);
    case PrimitiveType::kU16:
      return CompareByDirection<uint16_t>(attributes.direction);
    case PrimitiveType::kU32:
      return CompareByDirection<uint32_t>(attributes.direction);
    case PrimitiveType::kU64:
      return CompareByDirection<uint64_t>(attributes.direction);
    case PrimitiveType::kS8:
      return CompareByDirection<int8_t>(attributes.direction);
    case PrimitiveType::kS16:
      return CompareByDirection<int16_t>(attributes.direction);
    case PrimitiveType::kS32:
      return CompareByDirection<int32_t>(attributes.direction);
    case PrimitiveType::kS64:
      return CompareByDirection<int64_t>(attributes.direction);
    case PrimitiveType::kC64:
      return CompareByDirection<std::complex<float>>(attributes.direction);
    case PrimitiveType::kC128:
      return CompareByDirection<std::complex<double>>(attributes.direction);
    default:
      return nullptr;
  }
}

}  // namespace smelt::hlo

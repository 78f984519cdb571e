// Inside the evaluator: which HLO type an array of a C++ type has.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "hlo/primitive_type.h"

namespace smelt::hlo {

// A pred in an array: a byte of its own type, so that tables tell it from u8.
struct Pred {
  uint8_t value;
};

template <typename T>
constexpr PrimitiveType TypeOf() {
  if constexpr (std::is_same_v<T, Pred>) return PrimitiveType::kPred;
  if constexpr (std::is_same_v<T, int8_t>) return PrimitiveType::kS8;
  if constexpr (std::is_same_v<T, int16_t>) return PrimitiveType::kS16;
  if constexpr (std::is_same_v<T, int32_t>) return PrimitiveType::kS32;
  if constexpr (std::is_same_v<T, int64_t>) return PrimitiveType::kS64;
  if constexpr (std::is_same_v<T, uint8_t>) return PrimitiveType::kU8;
  if constexpr (std::is_same_v<T, uint16_t>) return PrimitiveType::kU16;
  if constexpr (std::is_same_v<T, uint32_t>) return PrimitiveType::kU32;
  if constexpr (std::is_same_v<T, uint64_t>) return PrimitiveType::kU64;
  if constexpr (std::is_same_v<T, float>) return PrimitiveType::kF32;
  if constexpr (std::is_same_v<T, double>) return PrimitiveType::kF64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return PrimitiveType::kC64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return PrimitiveType::kC128;
}

}  // namespace smelt::hlo

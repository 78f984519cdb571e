// Pieces that the math_*.cc files share.
#pragma once

#include <array>
#include <limits>

#include "targets/cpu/codegen/vector_math.h"

namespace smelt::cpu::codegen {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <size_t N>
llvm::Value* VectorMath::Polynomial(llvm::Value* x, const std::array<double, N>& coefficients) {
  llvm::Value* sum = Real(x, coefficients[N - 1]);
  for (int i = static_cast<int>(N) - 2; i >= 0; --i) sum = Fma(sum, x, Real(x, coefficients[i]));
  return sum;
}

}  // namespace smelt::cpu::codegen

// Convolutions for Winograd's algorithms as HLO text.
#pragma once

#include <cstdint>
#include <string>

namespace smelt::kernels {

// One convolution, channels last, with what follows it.
struct ConvolutionCase {
  int64_t images = 1, rows = 14, columns = 14, features = 16, outputs = 32;
  int64_t top = 1, bottom = 1, left = 1, right = 1;  // padding
  bool epilogue = false;                             // bias, residual, relu

  std::string Name() const;
  // With less padding a window would not fit.
  bool HasOutput() const { return rows + top + bottom >= 3 && columns + left + right >= 3; }
};
std::string TextOf(const ConvolutionCase& c);

}  // namespace smelt::kernels

#include "tests/kernels/winograd/convolutions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace smelt::kernels {

std::string ConvolutionCase::Name() const {
  return absl::StrFormat("%dx%dx%dx%d to %d features, pad %d_%dx%d_%d%s", images, rows, columns, features, outputs, top,
                         bottom, left, right, epilogue ? ", bias, residual, relu" : "");
}

std::string TextOf(const ConvolutionCase& c) {
  const std::string shape = absl::StrFormat("f32[%d,%d,%d,%d]", c.images, c.rows + c.top + c.bottom - 2,
                                            c.columns + c.left + c.right - 2, c.outputs);
  std::string text =
      absl::StrFormat("ENTRY e {\n  x = f32[%d,%d,%d,%d] parameter(0)\n  w = f32[3,3,%d,%d] parameter(1)\n", c.images,
                      c.rows, c.columns, c.features, c.features, c.outputs);
  const std::string convolution =
      absl::StrFormat("%s convolution(x, w), window={size=3x3 pad=%d_%dx%d_%d}, dim_labels=b01f_01io->b01f", shape,
                      c.top, c.bottom, c.left, c.right);
  if (!c.epilogue) return absl::StrCat(text, "  ROOT y = ", convolution, "\n}\n");
  absl::StrAppend(&text, "  b = f32[", c.outputs, "] parameter(2)\n  r = ", shape,
                  " parameter(3)\n  y = ", convolution);
  absl::StrAppend(&text, "\n  bias = ", shape, " broadcast(b), dimensions={3}\n  biased = ", shape, " add(y, bias)\n");
  absl::StrAppend(&text, "  sum = ", shape, " add(biased, r)\n  zero = f32[] constant(0)\n  zeros = ", shape);
  return absl::StrCat(text, " broadcast(zero), dimensions={}\n  ROOT relu = ", shape, " maximum(sum, zeros)\n}\n");
}

}  // namespace smelt::kernels

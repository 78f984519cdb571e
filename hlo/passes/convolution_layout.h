// Puts the features of pictures innermost, as code in vectors wants them.
//
//   convolution(x, w), dim_labels=bf01_oi01->bf01
//   after:  transpose(convolution(transpose(x), w), dim_labels=b01f_oi01->b01f)
//
// PyTorch and ONNX keep channels before rows and columns: vectors along a row of 7 or 14 are half empty, and gradients
// of weights have rows of 3. The transposes then move down through elementwise work, reductions, windows, paddings and
// concatenations, until they meet those of the next convolution: a network is transposed where it begins and ends, no
// matter how many convolutions it has. Weights stay as they are: they are packed in any order. A convolution whose
// groups hold few features (depthwise) or whose window is one element is fast either way, and follows only where
// another one in its computation moves. Linear in the module and the users of what is read; algebra removes what
// cancels. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> LayOutConvolutions(Module& module);

}  // namespace smelt::hlo

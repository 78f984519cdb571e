// Turns convolutions whose window is one element into products of matrices.
//
//   before: f32[8,7,7,512] convolution(f32[8,14,14,256] x, f32[1,1,256,512] w), window={size=1x1 stride=2x2}
//   after:  reshape(dot(reshape(slice(x, every second row and column)), reshape(w)))     of 392 rows
//
// The rows of a product are one dimension, so blocks of rows go on where a picture's row ends: 7 pixels are two blocks
// of four with one in vain, 392 rows are blocks of any size. Batches, spatial dimensions and features must lie in this
// order in the input and the result (LayOutConvolutions comes before), and nothing may be padded, dilated or in groups.
// Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> ConvolutionsToDots(Module& module);

}  // namespace smelt::hlo

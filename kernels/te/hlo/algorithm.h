// How a kernel's convolution is computed: as the sum that defines it, or by Winograd's minimal filtering, which
// multiplies less and rounds more.
//
//   ConvolutionAlgorithm algorithm = ParseAlgorithm("winograd4").value();
//   absl::Status status = CheckAlgorithm(kernel.computation(), algorithm);
//   if (!status.ok()) ...   // "winograd4: convolution.3 has stride 2; ..."
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/computation.h"

namespace smelt::kernels::te {

enum class ConvolutionAlgorithm : uint8_t {
  kDirect,     // what every convolution has, and kernels without one
  kWinograd2,  // F(2x2, 3x3): 2.25 times fewer products, as exact as the direct sum
  kWinograd4,  // F(4x4, 3x3): 4 times fewer products, errors of two to four times those of the direct sum
};

// "direct", "winograd2", "winograd4".
std::string_view AlgorithmName(ConvolutionAlgorithm algorithm);
// InvalidArgument: another word.
absl::StatusOr<ConvolutionAlgorithm> ParseAlgorithm(std::string_view name);
// Rows and columns of the output that one transform makes: 2 or 4; 0 of kDirect.
int64_t OutputTile(ConvolutionAlgorithm algorithm);

// The kernel's one convolution, if it has exactly one; null otherwise.
const hlo::Instruction* OnlyConvolution(const hlo::Computation& kernel);

// Whether a kernel can be computed so. Winograd's algorithms are for kernels with one convolution, of f32 numbers, with
// a window of 3x3, stride 1, no dilation and one group; padding, batch and the order of dimensions are free.
// InvalidArgument naming the algorithm, the instruction and what stands against it.
absl::Status CheckAlgorithm(const hlo::Computation& kernel, ConvolutionAlgorithm algorithm);

}  // namespace smelt::kernels::te

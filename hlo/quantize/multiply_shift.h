// Rescaling of integers by a 24-bit multiplier and a shift that rounds: the one arithmetic with which a quantised graph
// passes from one scale to another.
//
//   MultiplyShift rescale = ChooseMultiplyShift({0.0031, 0.0007}).value();   // one factor a channel
//   ApplyMultiplyShift(1000, rescale.multipliers[0], rescale.shift)          // 3
//   Instruction* narrow = AddMultiplyShift(build, sums, rescale, /*channel_dims=*/{3}, /*bound=*/1e6);
//
// y = saturate32((x * m + 2^(s-1)) >> s), exact, with an arithmetic shift: what an accelerator's requantisation does
// (docs/quantization.md). In HLO it is s64 arithmetic between two conversions, which AddMultiplyShift writes and
// MatchMultiplyShift recognises.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo::quantize {

// Multipliers are below this, in magnitude: signed numbers of 24 bits.
inline constexpr int64_t kMultiplierLimit = int64_t{1} << 23;
inline constexpr int kLargestShift = 56;

struct MultiplyShift {
  std::vector<int32_t> multipliers;  // one a channel; one for all of an array without channels
  int shift = 1;                     // 1 to kLargestShift
};

// The multipliers and the common shift that come nearest to these factors (positive or 0, finite, at least one). The
// largest gets 23 significant bits; the others lose what they are smaller by, which leaves the error of x * factor
// below 2^-23 of what the largest factor makes of x. InvalidArgument: a factor of 2^22 or more.
absl::StatusOr<MultiplyShift> ChooseMultiplyShift(absl::Span<const double> factors);

// One number: the reference for the graph, for simulators and for hardware. `shift` from 1 to kLargestShift.
int32_t ApplyMultiplyShift(int32_t x, int32_t multiplier, int shift);

// `x` is s32; the result too. `channel_dims` are the dimensions of `x` along which the multipliers vary, ascending;
// their sizes multiply to the number of multipliers, or there is one multiplier. Where |x| never exceeds `bound`, and
// nothing saturates therefore, no clamp is written.
Instruction* AddMultiplyShift(GraphBuilder& build, Instruction* x, const MultiplyShift& rescale,
                              absl::Span<const int64_t> channel_dims, double bound);

// `x`, and what it is multiplied with and shifted by, where `narrow` is the last instruction of such a rescaling.
struct MatchedMultiplyShift {
  Instruction* x = nullptr;                  // of s32, or s8
  const Instruction* multipliers = nullptr;  // s64: an array over the channels, or a scalar
  std::vector<int64_t> channel_dims;         // of x
  const Instruction* factor = nullptr;       // the same in the shape of x
  int shift = 1;
  bool saturates = false;                    // it is clamped to s32, or so far shifted that it cannot leave it
  std::vector<const Instruction*> interior;  // between x and `narrow`, without constants and their broadcasts
};
std::optional<MatchedMultiplyShift> MatchMultiplyShift(const Instruction& narrow);

}  // namespace smelt::hlo::quantize

// Which loops of a consumer walk over which axes of a producer: what lets a contraction be computed tile by tile inside
// the loops of what follows it, through transposes and reshapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/schedule/schedule.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::nests {

// Where one axis of the producer comes from.
struct AxisSource {
  // Consumer axes, fused from outer to inner; empty: the producer's axis has extent 1.
  std::vector<int> axes;
  // For a part of one consumer axis: position / divisor mod modulus; modulus 0: no remainder is taken.
  int64_t divisor = 1;
  int64_t modulus = 0;
};
struct AxisMatch {
  std::vector<AxisSource> sources;  // one an axis of the producer
};

// The match of a read at `indices` (over the axes of `consumer`), if every axis of the consumer walks over exactly one
// axis of the producer (or part of it), so that each element is read once.
std::optional<AxisMatch> MatchAxes(const te::Operation& consumer, const te::Operation& producer,
                                   const std::vector<te::Expr>& indices);

// Splits and fuses the consumer's loops so that one loop stands for each axis of the producer; returns their names,
// empty for axes of extent 1. The loops are in the order of the consumer's axes.
absl::StatusOr<std::vector<std::string>> LoopsOfProducer(schedule::Schedule& schedule, const std::string& consumer,
                                                         const AxisMatch& match);

}  // namespace smelt::kernels::nests

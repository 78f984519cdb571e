// What a computation's values are where they follow from the weights alone.
//
//   KnownValues known(*module.entry(), weights);
//   if (known.Is(*convolution.operand(1))) kernel = known.Value(*convolution.operand(1)).value();
//
// Weights are parameters whose values are given; what only they and constants lead to is known too, and is computed by
// the evaluator when it is asked for. Values of many elements are computed anew each time: a normalisation's broadcast
// statistics are as large as its activations, and are looked at once.
#pragma once

#include <map>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "hlo/literal.h"

namespace smelt::hlo::quantize {

// The values of weights, by parameter number.
using Weights = std::map<int64_t, Literal>;

class KnownValues {
 public:
  // Both must outlive it.
  KnownValues(const Computation& computation, const Weights& weights);

  bool Is(const Instruction& instruction) const { return known_.contains(&instruction); }

  // The value of an instruction that is known. Errors: the evaluator's.
  absl::StatusOr<std::shared_ptr<const Literal>> Value(const Instruction& instruction);

 private:
  const Weights& weights_;
  absl::flat_hash_set<const Instruction*> known_;
  absl::flat_hash_map<const Instruction*, std::shared_ptr<const Literal>> values_;
};

// The values of a literal by channel, where elements that share their places along `channel_dims` (ascending) are
// equal: one value for each place, row-major. Empty: they are not, or some element is no finite number.
std::vector<double> ByChannel(const Literal& literal, absl::Span<const int64_t> channel_dims);

// The elements in the order of the transposed array: dimension i of the result is dimension permutation[i] of the
// argument.
Literal Transposed(const Literal& literal, absl::Span<const int64_t> permutation);

}  // namespace smelt::hlo::quantize

// What a layer sums: a convolution, also one by channel (depthwise), a product of matrices, also a batch of them, a
// pooling, or int8 values as they are.
//
//   Layer layer;
//   Sums sums = SumsOf(*dot, Operands(kernel), config, /*swapped=*/false, &layer).value();
//   lower::Places columns = sums.moved.PlacesOf(sums.channels);     // where the columns stand in the result
//
// The layer gets what is computed (Layer::convolution without its epilogue), its operands and their views.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/computation.h"
#include "targets/vdla/layer.h"
#include "targets/vdla/rearrangement.h"

namespace smelt::vdla {

// The arrays that a kernel is given.
class Operands {
 public:
  explicit Operands(const hlo::Computation& kernel);
  // The parameter or constant that `y` is but for rearrangements, which are undone in `moved`. Unimplemented: it is
  // computed in the kernel, or regrouped as Rearrangement cannot say.
  absl::StatusOr<Source> Trace(const hlo::Instruction& y, Rearrangement* moved) const;

 private:
  std::vector<int64_t> leaves_;  // by parameter: its leaf; -1: a tuple
};

// Which dimensions of the sums' array a layer sees as what, and how far they have been moved since.
struct Sums {
  Rearrangement moved;
  std::vector<int64_t> images, channels, height, width;  // dimensions of the sums, the slowest first
  std::vector<int64_t> others() const;                   // all but the channels
};

// Whether sums begin at `x`: it is a contraction, or a reduction or window of int8.
bool BeginsSums(const hlo::Instruction& x);

// The sums at `x`: BeginsSums, or s8 values that are nothing but widened. `swapped`: the left operand of a dot holds
// the weights. Unimplemented tells what the machine has no way to run.
absl::StatusOr<Sums> SumsOf(const hlo::Instruction& x, const Operands& operands, const isa::Config& config,
                            bool swapped, Layer* layer);

absl::Status RefuseLayer(const hlo::Instruction& at, absl::string_view why);

}  // namespace smelt::vdla

// Deterministic inputs of a module: the same numbers on every machine, from a formula instead of a file.
//
//   std::vector<Literal> arguments = MakeInputs(module).value();
//
// Element i of parameter leaf p (tuples flattened, tokens not counted) is made from the 64-bit hash
// h(p, i) = mix(0x9E3779B97F4A7C15 * (p + first_stream) + i), where mix is the finaliser of splitmix64:
//   float:      low + (h >> 40) * 2^-24 * (high - low), each step rounded to f32 (f64 where asked), then to the type
//   integer:    low + h mod (high - low): `high` is not reached
//   pred:       (h >> 40) & 1
//   complex:    real part from element 2i, imaginary part from element 2i + 1
//   f8e8m0fnu:  the byte 127 + low + h mod (high - low)
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct InputRange {
  double low = -1;
  double high = 1;
  bool operator==(const InputRange&) const = default;
};

// -1 to 1 for floats and complex numbers, 0 to 7 (high is 8) for integers, cut to what narrow integers hold.
InputRange DefaultInputRange(PrimitiveType type);

struct InputOptions {
  uint64_t first_stream = 1;
  bool double_arithmetic = false;  // f64 leaves are computed in f64 instead of f32
};

// One literal per parameter of the entry computation. `ranges` has one entry per array leaf, or is empty for the
// defaults.
absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, absl::Span<const InputRange> ranges = {},
                                                const InputOptions& options = {});

// The array leaf `leaf` of that list, alone.
absl::StatusOr<Literal> MakeInput(const Shape& shape, int64_t leaf, const InputRange& range,
                                  const InputOptions& options = {});

}  // namespace smelt::hlo

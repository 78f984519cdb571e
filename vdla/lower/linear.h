// A linear function of loop variables: the index of an operation of the device, or what is left of a dimension.
//
//   Linear row = 4 * Linear::Of(0) + 1;            // four times variable 0, plus one
//   int64_t index = row.At({3, 7});                // 13, where variable 0 is 3
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace smelt::vdla::lower {

using Variable = int;  // the number of a loop's variable in its operations

struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<Variable, int64_t>> terms;  // variable, coefficient; a variable may stand twice

  Linear(int64_t value = 0) : constant(value) {}  // NOLINT: a number is a linear function
  static Linear Of(Variable variable) {
    Linear linear;
    linear.terms.push_back({variable, 1});
    return linear;
  }
  // Its value, `values` by variable.
  int64_t At(absl::Span<const int64_t> values) const {
    int64_t sum = constant;
    for (const auto& [variable, coefficient] : terms) sum += coefficient * values[variable];
    return sum;
  }
};

inline Linear operator+(Linear a, const Linear& b) {
  a.constant += b.constant;
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}
inline Linear operator*(int64_t factor, Linear a) {
  a.constant *= factor;
  for (auto& [variable, coefficient] : a.terms) coefficient *= factor;
  return a;
}
inline Linear operator-(Linear a, const Linear& b) { return std::move(a) + -1 * b; }

}  // namespace smelt::vdla::lower

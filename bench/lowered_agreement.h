// Compares a lowered schedule, interpreted, with the direct evaluation of its graph on random data.
//
//   kernels::schedule::Schedule s(graph);
//   const std::string difference = smelt::bench::Difference(s, smelt::bench::RandomInputs(graph));    // empty: none
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "kernels/schedule/state.h"
#include "kernels/te/evaluate.h"

namespace smelt::bench {

// Small integers as values, so that sums are exact in any order.
inline hlo::Literal RandomLiteral(hlo::PrimitiveType type, const std::vector<int64_t>& shape, uint64_t seed,
                                  int lo = -4, int hi = 4) {
  std::mt19937_64 random(seed);
  hlo::Literal literal(hlo::Shape::Array(type, shape));
  for (int64_t i = 0; i < literal.element_count(); ++i)
    literal.SetDouble(i, static_cast<double>(lo + static_cast<int64_t>(random() % (hi - lo + 1))));
  return literal;
}

inline double LargestFinite(const hlo::Literal& literal) {
  double largest = 0;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const double x = std::fabs(literal.GetDouble(i));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return largest;
}

// Empty, or the first element that differs by more than `tolerance` of the largest result. Results whose terms cancel
// may be rounding errors only: the square of `tolerance`, of the largest input, is allowed, too.
inline std::string FirstDifference(const std::vector<hlo::Literal>& want, const std::vector<hlo::Literal>& got,
                                   const std::vector<hlo::Literal>& inputs, double tolerance) {
  double largest_input = 0;
  for (const hlo::Literal& input : inputs) largest_input = std::max(largest_input, LargestFinite(input));
  for (size_t o = 0; o < want.size(); ++o) {
    const double allowed = tolerance * std::max(LargestFinite(want[o]), tolerance * largest_input);
    for (int64_t i = 0; i < want[o].element_count(); ++i) {
      const double x = want[o].GetDouble(i), y = got[o].GetDouble(i);
      if (x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= allowed) continue;
      return absl::StrCat("output ", o, " element ", i, ": want ", x, ", got ", y);
    }
  }
  return "";
}

// What Difference says of a schedule that stores more than it may, as one that computes a stage anew in every loop
// does.
inline constexpr const char* kTooMuch = "too much to interpret";

// Empty when they agree; otherwise what differs, with the loop IR.
inline std::string Difference(const kernels::schedule::Schedule& schedule, std::vector<hlo::Literal> inputs,
                              double tolerance = 0, kernels::lower::LowerOptions options = {},
                              int64_t most_stores = int64_t{1} << 32) {
  auto function = kernels::lower::Lower(schedule, options);
  if (!function.ok()) return function.status().ToString();
  std::vector<const hlo::Literal*> pointers;
  for (const hlo::Literal& input : inputs) pointers.push_back(&input);
  auto want = kernels::te::Evaluate(schedule.graph(), pointers);
  if (!want.ok()) return want.status().ToString();
  const auto with_program = [&](const std::string& what) {
    return absl::StrCat(what, "\n", schedule.ToString(), "\n", kernels::ir::ToString(*function));
  };
  for (const bool reverse : {false, true}) {
    std::vector<hlo::Literal> got;
    for (const hlo::Literal& literal : *want) {
      got.emplace_back(literal.shape());
      std::memset(got.back().raw(), 0x7b, got.back().byte_size());
    }
    std::vector<void*> arguments;
    for (hlo::Literal& input : inputs) arguments.push_back(input.raw());
    for (hlo::Literal& output : got) arguments.push_back(output.raw());
    if (absl::Status status =
            kernels::ir::Interpret(*function, arguments, {.reverse_parallel = reverse, .store_limit = most_stores});
        !status.ok())
      return absl::IsResourceExhausted(status) ? kTooMuch : with_program(status.ToString());
    if (const std::string difference = FirstDifference(*want, got, inputs, tolerance); !difference.empty())
      return with_program(difference);
  }
  // Every schedule round-trips through its printed trace.
  auto replayed = kernels::schedule::Schedule::Replay(schedule.graph(), schedule.ToString(), schedule.state().scopes,
                                                      schedule.state().tensor_intrinsics);
  if (!replayed.ok()) return with_program(replayed.status().ToString());
  if (replayed->trace() != schedule.trace()) return with_program("the replayed trace differs");
  return "";
}

inline std::vector<hlo::Literal> RandomInputs(const kernels::te::Graph& graph, uint64_t seed = 1) {
  std::vector<hlo::Literal> inputs;
  for (const kernels::te::Tensor& input : graph.inputs)
    inputs.push_back(RandomLiteral(input.type(), {input.shape().begin(), input.shape().end()}, seed + inputs.size()));
  return inputs;
}

}  // namespace smelt::bench

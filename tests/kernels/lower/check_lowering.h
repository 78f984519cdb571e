// Compares a lowered schedule, interpreted, with the direct evaluation of its graph on random data.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "kernels/te/evaluate.h"

namespace smelt::kernels::lower {

using schedule::Schedule;
using schedule::TailStrategy;
using te::Compute;
using te::Expr;
using te::Indices;
using te::MakeGraph;
using te::Placeholder;
using te::PrimitiveType;
using te::ReduceAxis;
using te::Sum;
using te::Tensor;

inline Expr Mul(const Expr& a, const Expr& b) { return te::Binary(te::BinaryOp::kMul, a, b); }
inline Expr Add(const Expr& a, const Expr& b) { return te::Binary(te::BinaryOp::kAdd, a, b); }
inline Expr Zero() { return te::FloatConst({PrimitiveType::kF32, 1}, 0); }
inline Expr Constant(double value) { return te::FloatConst({PrimitiveType::kF32, 1}, value); }

// Small integers as values, so that sums are exact in any order.
inline hlo::Literal RandomLiteral(PrimitiveType type, const std::vector<int64_t>& shape, uint64_t seed, int lo = -4,
                                  int hi = 4) {
  std::mt19937_64 random(seed);
  hlo::Literal literal(hlo::Shape::Array(type, shape));
  for (int64_t i = 0; i < literal.element_count(); ++i)
    literal.SetDouble(i, static_cast<double>(lo + static_cast<int64_t>(random() % (hi - lo + 1))));
  return literal;
}

// Empty when they agree; otherwise what differs, with the loop IR.
inline std::string Difference(const Schedule& schedule, std::vector<hlo::Literal> inputs, double tolerance = 0,
                              LowerOptions options = {}) {
  auto function = Lower(schedule, options);
  if (!function.ok()) return function.status().ToString();
  std::vector<const hlo::Literal*> pointers;
  for (const hlo::Literal& input : inputs) pointers.push_back(&input);
  auto want = te::Evaluate(schedule.graph(), pointers);
  if (!want.ok()) return want.status().ToString();
  const auto with_program = [&](const std::string& what) {
    return absl::StrCat(what, "\n", schedule.ToString(), "\n", ir::ToString(*function));
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
    if (absl::Status status = ir::Interpret(*function, arguments, {.reverse_parallel = reverse}); !status.ok())
      return with_program(status.ToString());
    for (size_t o = 0; o < got.size(); ++o) {
      for (int64_t i = 0; i < got[o].element_count(); ++i) {
        const double x = (*want)[o].GetDouble(i), y = got[o].GetDouble(i);
        const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance * std::fabs(x);
        if (!same) return with_program(absl::StrCat("output ", o, " element ", i, ": want ", x, ", got ", y));
      }
    }
  }
  // Every schedule round-trips through its printed trace.
  auto replayed = Schedule::Replay(schedule.graph(), schedule.ToString());
  if (!replayed.ok()) return with_program(replayed.status().ToString());
  if (replayed->trace() != schedule.trace()) return with_program("the replayed trace differs");
  return "";
}

inline std::vector<hlo::Literal> RandomInputs(const te::Graph& graph, uint64_t seed = 1) {
  std::vector<hlo::Literal> inputs;
  for (const Tensor& input : graph.inputs)
    inputs.push_back(RandomLiteral(input.type(), {input.shape().begin(), input.shape().end()}, seed + inputs.size()));
  return inputs;
}

#define EXPECT_LOWERS_RIGHT(schedule) EXPECT_EQ(Difference(schedule, RandomInputs((schedule).graph())), "")

}  // namespace smelt::kernels::lower

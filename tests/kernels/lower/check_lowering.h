// Compares a lowered schedule, interpreted, with the direct evaluation of its graph on random data.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lowered_agreement.h"
#include "gtest/gtest.h"
#include "kernels/ir/interpret.h"
#include "kernels/lower/lower.h"
#include "kernels/schedule/schedule.h"
#include "kernels/te/evaluate.h"

namespace smelt::kernels::lower {

using bench::Difference;
using bench::RandomInputs;
using bench::RandomLiteral;
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

#define EXPECT_LOWERS_RIGHT(schedule) EXPECT_EQ(Difference(schedule, RandomInputs((schedule).graph())), "")

}  // namespace smelt::kernels::lower

// A rewrite rule of algebraic simplification: one line of a table.
//
//   {"add-zero", Opcode::kAdd, [](Instruction& x, GraphBuilder&) { return IsAllNegativeZero(*x.operand(1)) ? ... }}
//
// A rule looks at one instruction of its opcode and returns what to use instead (an operand, or something new), or
// nullptr where it does not apply; it adds nothing in that case. Every rule keeps every value as it is, bit for bit up
// to what the table's comment says: sums may be reassociated inside reductions, whose order is not defined, and nothing
// else may. NaN, infinities and the sign of zero survive.
//
// Rules see only arrays of static shape without control dependencies. Each must take the program closer to a normal
// form (fewer instructions, data movement nearer the inputs, constants on the right), so that applying them ends.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {

struct Rule {
  std::string_view name;
  Opcode opcode;
  Instruction* (*apply)(Instruction& x, GraphBuilder& build);
};

absl::Span<const Rule> ArithmeticRules();  // add, multiply, divide, power, ...
absl::Span<const Rule> LogicRules();       // compare, select, and, or, clamp, ...
absl::Span<const Rule> ConvertRules();     // convert, bitcast-convert, complex, reduce-precision
absl::Span<const Rule> ShapeRules();       // reshape, broadcast, transpose, iota
absl::Span<const Rule> MovementRules();    // slice, pad, concatenate, reverse, dynamic slices
absl::Span<const Rule> ReductionRules();   // reduce, reduce-window, dot

}  // namespace smelt::hlo

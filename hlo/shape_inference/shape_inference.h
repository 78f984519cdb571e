// Shapes of results, from opcode, operands, attributes and called computations.
//
//   SMELT_ASSIGN_OR_RETURN(Shape shape, InferShape(Opcode::kDot, {lhs, rhs}, dot_attributes));
//   SMELT_ASSIGN_OR_RETURN(Instruction* sum, AddInferred(computation, Opcode::kAdd, {x, y}));
//
// Each opcode has one rule, which says what its operands must be as well as what comes out; the verifier holds
// instructions against the same rules. Where the operands do not decide the shape (parameter, convert, reshape,
// broadcast, iota, custom-call, ...) there is nothing to infer, and the error says so. Messages name opcode, operands,
// rule and numbers. Sizes are computed without overflow.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/computation.h"

namespace smelt::hlo {

absl::StatusOr<Shape> InferShape(Opcode opcode, absl::Span<const Instruction* const> operands,
                                 const Attributes& attributes = {}, absl::Span<Computation* const> called = {});

// Adds an instruction of the inferred shape; default attributes of the opcode where none are given.
absl::StatusOr<Instruction*> AddInferred(Computation& computation, Opcode opcode, std::vector<Instruction*> operands,
                                         Attributes attributes = {}, std::vector<Computation*> called = {},
                                         std::string_view name = "");

// Whether an instruction keeps its opcode's rule and has the shape that comes out; layouts and dynamic sizes are not
// compared.
absl::Status CheckShape(const Instruction& instruction);

}  // namespace smelt::hlo

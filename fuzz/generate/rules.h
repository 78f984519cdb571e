// The table of what the generator can add: one line an opcode, with how often.
//
// A rule picks operands and attributes that verify, adds the instruction, and returns false where nothing fits (the
// caller then tries another). Rules of a family share a file.
#pragma once

#include "absl/types/span.h"
#include "fuzz/generate/draft.h"

namespace smelt::fuzz {

struct OpcodeRule {
  hlo::Opcode opcode;
  int weight;  // relative frequency
  bool (*add)(Draft& draft, hlo::Opcode opcode);
  bool nested = true;  // whether computations of loops and branches may have it
};

absl::Span<const OpcodeRule> ElementwiseRules();
absl::Span<const OpcodeRule> MovementRules();
absl::Span<const OpcodeRule> IndexedRules();      // dynamic slices, gather, scatter
absl::Span<const OpcodeRule> ContractionRules();  // dot, convolution
absl::Span<const OpcodeRule> ReductionRules();    // reduce, windows, sort, top-k, scan, batch norm, map
absl::Span<const OpcodeRule> ControlRules();      // while, conditional, call
absl::Span<const OpcodeRule> SpecialRules();      // random bits, Fourier transforms, triangular matrices

// All of them.
const std::vector<OpcodeRule>& Rules();

// Adds about `count` instructions by the table.
void Grow(Draft& draft, int64_t count);

// A computation (lhs, rhs) -> opcode(lhs, rhs) on scalars; made once a module.
hlo::Computation* ScalarOperation(Draft& draft, hlo::Opcode opcode, hlo::PrimitiveType type);

}  // namespace smelt::fuzz

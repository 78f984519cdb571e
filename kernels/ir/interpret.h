// Reference interpreter of the loop IR over plain buffers: the oracle of lowering, and what generated code is compared
// with.
//
//   SMELT_RETURN_IF_ERROR(Interpret(function, std::vector{a, b, c}));    // arguments in order: inputs, then outputs
//
// Checks what machine code does not: every access that is performed must lie inside its buffer. Scratch starts as bytes
// of 0xff (NaN), so that values that nobody wrote show in the result.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {

struct InterpretOptions {
  // Iterations of parallel loops run last to first: a wrong dependence between them shows.
  bool reverse_parallel = false;
  int64_t store_limit = int64_t{1} << 32;  // performed stores, after which it gives up
};

absl::Status Interpret(const Function& function, absl::Span<void* const> arguments,
                       const InterpretOptions& options = {});

}  // namespace smelt::kernels::ir

// The evaluator: runs a module on the CPU one instruction at a time, with XLA's semantics. The oracle of every numeric
// test.
//
//   std::vector<const Literal*> arguments = {&x, &y};
//   absl::StatusOr<Literal> result = Evaluate(module, arguments);
//
// Slow, obvious and right, yet usable on real networks: contractions and large elementwise work run on all cores, and
// values are freed after their last use. Arithmetic follows XLA on a CPU:
//   - f32 and f64 treat subnormal numbers as zero; bf16, f16 and narrower floats compute in f32 and round after each
//   instruction;
//   - sums of bf16 and f16 (reduce, dot, convolution) accumulate in f32 or better and round once;
//   - integers wrap; x / 0 = -1, x % 0 = x; shifts by the width or more give 0 or the sign; conversions to integers
//   saturate, NaN gives 0;
//   - minimum, maximum and clamp propagate NaN; start indices of slices and gathers are clamped, scatters outside of
//   the operand are dropped.
// The module must verify. What cannot run here (collectives between devices, unknown custom calls, host transfers) is
// an Unimplemented error that names the instruction. Thread-safe: nothing is kept between calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/computation.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct EvaluateOptions {
  int threads = 0;         // 0: one per core
  double max_seconds = 0;  // 0: no limit; beyond it, a DeadlineExceeded error
  int64_t max_bytes = 0;   // of values alive at once; 0: most of the machine's memory; beyond it, ResourceExhausted
  const std::atomic<bool>* cancel = nullptr;  // once true, the evaluation ends soon with a Cancelled error
  // 0: as it is. Other numbers are as many other ways to round: each rounded result has its last digits changed, up
  // here and down there (other_roundings.h). What that moves the outputs by is how far right ways to compute them lie
  // apart.
  int other_roundings = 0;
};

// Runs the entry computation. One argument per parameter, with the parameter's type and dimensions (a tuple's literal
// for a tuple).
absl::StatusOr<Literal> Evaluate(const Module& module, absl::Span<const Literal* const> arguments,
                                 const EvaluateOptions& options = {});

// The same for any computation of a module, for example the body of a fusion.
absl::StatusOr<Literal> EvaluateComputation(const Computation& computation, absl::Span<const Literal* const> arguments,
                                            const EvaluateOptions& options = {});

// Runs one instruction on given operands: what constant folding needs. The instruction's own operands are not looked
// at.
absl::StatusOr<Literal> EvaluateInstruction(const Instruction& instruction, absl::Span<const Literal* const> operands,
                                            const EvaluateOptions& options = {});

}  // namespace smelt::hlo

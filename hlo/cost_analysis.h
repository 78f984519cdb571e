// Counts of what a kernel, an instruction or a program does: arithmetic, transcendental functions, bytes moved.
//
//   CostAnalysis cost = AnalyzeCost(*instruction.called(0));
//   cost.flops / cost.bytes()      // arithmetic intensity
//
// What is computed counts, not what is declared: a slice of a large operand reads the slice, an
// update of a slice writes the update, a reduction inside a slice of a result is done in part, taps of a convolution
// that lie in its padding cost nothing, and a value inside a kernel that several instructions read is computed once.
// The figures are for one device without caches: every operand is read from memory once, every result is written
// once.
#pragma once

#include <vector>

#include "hlo/computation.h"
#include "hlo/module.h"

namespace smelt::hlo {

struct CostAnalysis {
  double flops = 0;  // arithmetic on numbers of any type; a fused multiply-add counts as two
  double transcendentals =
      0;  // exponentials, logarithms, roots, trigonometric functions, power, error function; not among the flops
  double bytes_read = 0;  // sum of operand_bytes
  double bytes_written = 0;
  std::vector<double> operand_bytes;  // read from each operand of an instruction, or each parameter of a computation;
                                      // empty for a program

  double bytes() const { return bytes_read + bytes_written; }
};

// One kernel: a computation whose intermediate values never leave it, as the body of a fusion. Linear in its
// instructions.
CostAnalysis AnalyzeCost(const Computation& kernel);

// One instruction with its operands and its result in memory. A fusion is its computation's cost. What moves nothing
// and computes nothing (parameter, constant, tuple, get-tuple-element, bitcast, tokens) costs nothing.
CostAnalysis AnalyzeCost(const Instruction& instruction);

// The whole program as it stands, each instruction of its executed computations a kernel of its own. The body of a loop
// counts as often as backend_config's known_trip_count says, once where that is unknown; of a conditional, the branch
// with the most bytes counts.
CostAnalysis AnalyzeProgramCost(const Module& module);

}  // namespace smelt::hlo

// What a kernel asks of a machine, before any share of the machine's peaks: operations by the kind of loop that does
// them, products of matrices, bytes.
//
//   const KernelWork work = WorkOf(*module.entry(), machine);
//   work.operations[KernelWork::kElementwise]   // 2 for an addition of f32, 28 for an exponential
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "hlo/computation.h"
#include "kernels/cost/cost_formula.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {

struct KernelWork {
  // Who does an operation: what it takes beside one at the peak is a coefficient of each (analytical.h).
  enum Loop {
    kElementwise,  // ElementCost of each element that is computed
    kRowSums,      // steps of reductions along the innermost dimension, two each
    kRowEnds,      // results of these: the lanes of a vector meet
    kColumnSums,   // steps of other reductions, two each
    kWindows,      // taps of windows, two each
    kStrided,      // elements that lie apart where they are read: transposed, every n-th of a slice
    kSingles,      // elements that come one by one: a gather's, those of short parts of a row
    kNative,       // cycles of operations without a loop nest (operation_cost.h)
    kLoops,
  };
  std::array<double, kLoops> operations{};
  std::vector<CostFormula::Contraction> contractions;
  double packed_bytes = 0;  // written and read again: panels of operands
  double bytes = 0;         // parameters read and results written, each once
  int phases = 1;           // one after the other on all threads
};

// What a kernel asks of one of its instructions.
struct InstructionWork {
  double evaluations = 0;  // elements that are computed, or read from a parameter; 0: only its shape is used
  double slowdown = 1;     // of what is computed beside whole vectors: their lanes over those that are used
};

// The work of a kernel, in one walk from the root, linear in its size: how often each element is computed follows from
// its users. `of_each`, where given, receives that of its instructions in the order of Computation::PostOrder.
KernelWork WorkOf(const hlo::Computation& kernel, const machine::Machine& target,
                  std::vector<InstructionWork>* of_each = nullptr);

// "elementwise", "row sums", ...
std::string_view NameOf(KernelWork::Loop loop);

}  // namespace smelt::kernels::cost

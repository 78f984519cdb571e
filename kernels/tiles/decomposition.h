// How a lowered kernel falls into pieces: what share of the work the busiest thread has, and how much is copied. Facts
// of a schedule that need no clock.
//
//   ir::Function function = lower::Lower(schedule, {}).value();
//   Decomposition parts = Decompose(function, /*threads=*/8);
//   parts.balance      // 0.93: seven threads wait 7 % of the time for the eighth
#pragma once

#include <cstdint>

#include "kernels/ir/stmt.h"

namespace smelt::kernels::nests {

struct Decomposition {
  double work = 0;     // operations, weighted as Decompose says
  double balance = 1;  // work / threads over what the busiest thread of each phase does, phases added up; at most 1
  double packed = 0;   // elements copied into scratch as they are, in a call
  // The most of one operand, as a multiple of the elements that it has: 1 where it is packed once a call.
  double packed_share = 0;
};

// For a pool that gives each thread an equal run of consecutive iterations (runtime/thread_pool.h). A store counts one
// for each lane, and one for each arithmetic operation of its value. A branch that the parallel loop's variable does
// not decide counts as taken.
Decomposition Decompose(const ir::Function& function, int threads);

}  // namespace smelt::kernels::nests

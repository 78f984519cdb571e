// Tokens that keep an order between the units: which instructions push one, which pop one.
//
//   TokenPlan plan = PlanTokens(units, needs, /*depth=*/64).value();
//   bool waits = plan.steps[1].pop_prev;    // the second instruction waits for a token of the unit before its own
//
// VDLA's units meet through four anonymous queues between neighbours (load, compute, store; decoupled access-execute as
// in Section 6.4 of the TVM paper): the k-th pop of a queue meets its k-th push, whoever they are. The planner walks
// the sequential program and keeps a vector clock for each unit: what it knows to be done. An instruction that has to
// wait for what its unit does not know yet pops one token of the latest instruction that it needs; all else is implied.
// Hence every pair of a push and a pop is necessary: no other kept token says the same. Pairs of one queue come in the
// same order at both ends, because a later instruction that needs no more than an earlier one already knows it.
//
// Load and store have no queue of their own; such an order goes through a compute instruction that knows it already, or
// through a no-op on compute that does nothing else, so that no computation waits for it.
//
// No deadlock: every pair points forward in the sequential program. A push into a full queue waits for a pop, so the
// planner also keeps the number of tokens between a push and its pop, in sequential order, within the depth: where one
// more would come, the youngest waiting pop is given the newer push (it waits a little longer and the next pop falls
// away). Then the sequential order itself runs with the real depths and, as units in order with first-in-first-out
// queues either all reach a deadlock or none does, so does every other order of the same instructions.
//
// TVM's inserter pushes and pops wherever the unit changes in program order, with one token at most on its way: without
// virtual threads nothing overlaps. Here, a load runs ahead as far as the memories allow; distances between iterations,
// loops that run once or never, and two threads on different buffers need no cases of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "vdla/isa/instruction.h"
#include "vdla/lower/dependences.h"

namespace smelt::vdla::lower {

struct PlannedStep {
  int64_t step = -1;  // index of the step; -1: a no-op on compute that carries tokens
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;
};

struct TokenPlan {
  std::vector<PlannedStep> steps;                      // in sequential order
  std::array<int64_t, isa::kTokenQueues> tokens = {};  // pushed, by queue
  int64_t no_ops = 0;                                  // added
  int64_t merged = 0;                                  // pairs that the depth of a queue made one with another
};

// `units` and `needs` have an entry for each step; needs are of other units and earlier. `depth` is that of each queue.
// InvalidArgument: a depth below 1. Linear in the steps, times the rounds that short queues take.
absl::StatusOr<TokenPlan> PlanTokens(absl::Span<const isa::Unit> units, absl::Span<const Needs> needs, int64_t depth);

}  // namespace smelt::vdla::lower

// Whether tokens keep the order that a program needs: a replay (isa/token_replay.h) that shares nothing with the
// planner.
//
//   absl::Status right = CheckTokens(steps, flags, /*depth=*/64);   // one entry of each for an instruction
//
// The three units run as far as tokens let them, with the real depth of the queues. An error is
//   - a deadlock: units wait for each other, with the instructions and the queues that they wait at;
//   - a token that is left in a queue at the end;
//   - a race: two units touch the same element or byte, one of them writes, and no chain of tokens orders them. Each
//     unit has a vector clock that travels with its tokens, so that a race is found in any order of the replay;
//   - an end (a step that waits for all) that does not know that another unit is done.
// Units in order with first-in-first-out queues reach the same end in every order of execution, so one replay is proof.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "vdla/lower/dependences.h"
#include "vdla/lower/token_plan.h"

namespace smelt::vdla::lower {

// `steps` in sequential order, with a PlannedStep for each (its `step` is not used). InvalidArgument: a race or an end
// that comes early; Aborted: a deadlock or a leftover, by the indices of the steps. Time and memory grow with the
// elements and bytes that are touched.
absl::Status CheckTokens(absl::Span<const Step> steps, absl::Span<const PlannedStep> flags, int64_t depth);

}  // namespace smelt::vdla::lower

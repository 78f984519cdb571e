// The papers' baseline: annealing with measurements alone (Kaufman et al., MLSys 2021, Section 6.3), over all that the
// search under a model chooses among: fusions, the knobs beside them, and tiles where the target has them.
//
//   SearchHardware(state, {start}).ok();
//   state.trials.best()
//
// It is the same annealing (search/annealing.h), but every move that changes the program costs a trial, so that there
// is time for few: one chain, no descents, and the temperature falls with the time. Fails only where the records cannot
// be kept, with Cancelled, or with DeadlineExceeded where a trial outlasted the search's time.
#pragma once

#include "absl/status/status.h"
#include "targets/tunable.h"
#include "tuner/session_state.h"

namespace smelt::tuner {

// `start` is legalised.
absl::Status SearchHardware(SessionState& state, const targets::Trial& start);

}  // namespace smelt::tuner

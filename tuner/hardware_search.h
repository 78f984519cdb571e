// The papers' baseline: annealing over fusion configurations with measurements alone (Kaufman et al., MLSys 2021,
// Section 6.3).
//
//   SearchHardware(state, start).ok();
//   state.trials.best()
//
// Every move that changes the program costs a trial. Fails only where the records cannot be kept, or with Cancelled.
#pragma once

#include "absl/status/status.h"
#include "fusion/config.h"
#include "tuner/session_state.h"

namespace smelt::tuner {

absl::Status SearchHardware(SessionState& state, const fusion::Config& start);

}  // namespace smelt::tuner

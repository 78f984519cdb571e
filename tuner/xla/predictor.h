// Rough seconds of kernels as XLA's loop fusions would take: what the search goes by until a candidate is timed.
#pragma once

#include <memory>

#include "gnn/predictor.h"

namespace smelt::tuner::xla {

// Memory traffic or arithmetic, whichever takes longer, with everything computed again that is read again
// (fusion/kernel_cost.h). It knows no tiles.
std::unique_ptr<gnn::Predictor> RoughPredictor();

}  // namespace smelt::tuner::xla

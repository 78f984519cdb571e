// Operations without a loop nest, run by the evaluator.
#pragma once

#include <atomic>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo/computation.h"

namespace smelt::cpu {

// Evaluates `kernel` (as fusion::ExtractKernel cuts it out) on raw buffers: one a leaf of its parameters, one a leaf of
// its result. Copies both ways; errors are the evaluator's, which name what it cannot do.
absl::Status RunOpaque(const hlo::Computation& kernel, absl::Span<const void* const> inputs,
                       absl::Span<void* const> outputs, int threads, const std::atomic<bool>* cancel);

}  // namespace smelt::cpu

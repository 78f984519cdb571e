// What a tuning session tells people: which kernels changed, and a report as text.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hlo/module.h"
#include "tuner/session.h"

namespace smelt::tuner {

// Fills kernels_gone and kernels_new from the two fused programs, by canonical hash.
absl::Status NameChangedKernels(const hlo::Module& usual, const hlo::Module& tuned, TuneReport* report);

// `budget`: of the run, for what its time went for.
std::string FormatReport(const std::string& path, const TuneOptions& options, const TuneReport& report,
                         const measure::Budget& budget);

}  // namespace smelt::tuner

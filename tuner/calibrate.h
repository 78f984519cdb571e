// Adapts a model to the machine at hand: times probe kernels for a minute or two, and fits what a machine changes
// (gnn/calibration/calibration.h). Needs no training program.
//
//   CalibrateReport report = CalibrateModel("models/probe", target, {.model = path, .seconds = 120}).value();
//   double before = report.error_before;   // mean absolute error of the log time
//   double after = report.error;
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/model/model_file.h"
#include "measure/runner.h"
#include "targets/target.h"
#include "tuner/progress.h"

namespace smelt::tuner {

struct CalibrateOptions {
  std::string model;     // file of the model to adapt; of the target's kind
  double seconds = 120;  // wall clock, of which a twentieth is kept for the fit
  uint64_t seed = 1;     // order of the probes
  measure::MeasurePolicy policy{.repeats = 5, .seconds = 0.1, .build_timeout = 10, .run_timeout = 10};
  const std::atomic<bool>* cancel = nullptr;
  Progress* progress = nullptr;
};

struct CalibrateReport {
  gnn::ModelFile model;  // adapted
  int64_t kernels = 0;   // that were timed, and counted
  int64_t unsteady = 0;  // timed in a spell, and left out
  int64_t failed = 0;
  // How good a fit to four fifths of the kernels is on every fifth: mean absolute error of the log time, and the share
  // of them within their intervals of 90 %. The error before is that of the model as it was, on the same kernels.
  double error_before = 0, error = 0, inside = 0;
  double seconds = 0;
};

// `probes`: a corpus, whose times do not count. FailedPrecondition: the model has no fusion task, or is of another kind
// of target. InvalidArgument: too few kernels could be timed.
absl::StatusOr<CalibrateReport> CalibrateModel(const std::string& probes, const targets::Target& target,
                                               const CalibrateOptions& options);

}  // namespace smelt::tuner

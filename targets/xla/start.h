// --target=xla: a program made ready for a tuning session, with what its search starts from.
//
//   XlaProgram program = PrepareToTune("model.hlo", worker, policy, {.folder = "run"}, budget, &notes).value();
//
// XLA's passes leave the program unfused; they run again to tell what its library would take and how XLA itself would
// fuse. Each of these compilations beyond the first is begun only in the first part of the budget: without them the
// search has fewer starts and choices.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/budget.h"
#include "measure/runner.h"
#include "targets/xla/program.h"

namespace smelt::xla {

struct StartOptions {
  std::string folder;  // of the run; remembers which of XLA's settings was the better one
  // Whether the fusions that XLA makes for its library stay as they are (kept) or each contraction is a choice (free);
  // auto: whichever of XLA's two settings is faster.
  std::string library = "auto";
  CaptureFiles captured;
  double compile_seconds = 600;  // limit of one of XLA's compilations
};

// `notes` receives a line for each thing that the search must do without. DeadlineExceeded: the budget ended before
// XLA's passes did.
absl::StatusOr<XlaProgram> PrepareToTune(const std::string& path, const measure::WorkerOptions& worker,
                                         const measure::MeasurePolicy& policy, const StartOptions& options,
                                         const measure::Budget& budget, std::vector<std::string>* notes);

}  // namespace smelt::xla

// One program tuned for several targets in one budget: the fastest verified answer of all is the answer.
//
//   SeveralReport report = TuneSeveral("model.hlo", entrants, options, budget).value();
//   report.entrants[report.winner].report;                // of its own session, in run/cpu or run/xla
//
// The defaults are timed for a moment first: a target whose default takes twice as long as another's gets no session,
// and the time goes to the others (contenders.h). Each of these has a session of its own (session.h) in a part of the
// time, by how near its default is to the fastest, one after the other; what one leaves, the next has. Then the answers
// are timed in turn, each by its own device, beside the default of another compiler where a target has one, since that
// is what a user has today. The sample are sets of new devices, as in measure/comparison.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "measure/budget.h"
#include "measure/comparison.h"
#include "targets/target.h"
#include "tuner/session.h"

namespace smelt::tuner {

struct Entrant {
  const targets::Target* target;
  std::string name;  // of its folder in the run folder, and for people
  std::function<absl::StatusOr<std::unique_ptr<gnn::Predictor>>(const targets::Target&)> open_predictor;
};

struct EntrantReport {
  std::string name;
  absl::Status status;  // why there is no session of it
  TuneReport report;    // of its session
  std::string model;    // that predicted its kernels
  double seconds = 0;   // of its answer, in turn with the others'; 0: not timed
};

struct SeveralReport {
  std::vector<EntrantReport> entrants;
  int winner = -1;                              // -1: there is no answer
  std::string baseline;                         // whose default the answer is compared with, for people
  double baseline_seconds = 0;                  // in turn with the answers; 0: not timed
  std::optional<measure::Comparison> compared;  // the baseline and the winner; none where the winner is the baseline
  std::string undecided;                        // why the answers were not compared

  bool improved() const { return compared && compared->better; }
  double speedup() const;
};

// `options.folder` holds one folder an entrant, and report.txt. Fails where no entrant has an answer, or the folder
// cannot be kept.
absl::StatusOr<SeveralReport> TuneSeveral(const std::string& path, const std::vector<Entrant>& entrants,
                                          const TuneOptions& options, measure::Budget& budget);

std::string FormatReport(const std::string& path, const TuneOptions& options, const SeveralReport& report,
                         const measure::Budget& budget);

}  // namespace smelt::tuner

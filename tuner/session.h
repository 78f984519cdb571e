// The main job: a program in, its best measured and verified configuration out, in a folder that a later run goes on
// from.
//
//   measure::Budget budget(60);
//   TuneReport report = Tune(tunable, {.folder = "run"}, predictor, budget).value();
//
// Chains of simulated annealing search fusion configurations under the model; the best distinct ones are compiled and
// timed in a child process in order of predicted cost, in turn with the default; what their kernels took corrects the
// costs of the next round of search (Kaufman et al., MLSys 2021, Section 6.3). The first result of every new best is
// compared with the evaluator. Tiles of the kernels are then ranked by the model and measured while there is time. At
// the end default and best are compared in interleaved rounds of several processes: where the gain is not beyond doubt
// (comparison.h), the default is the answer.
//
// All of this happens within a budget of wall-clock time, a share of which is kept for the comparison. Where it does
// not suffice to measure even the default, that is the answer. The folder: best.fusion.json, fused.hlo, records.db
// (every trial, committed before the next starts), report.txt, log.txt. A second run takes what the first measured from
// the records, and has a budget of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/predictor.h"
#include "measure/budget.h"
#include "measure/comparison.h"
#include "measure/runner.h"
#include "targets/tunable.h"
#include "tuner/progress.h"

namespace smelt::tuner {

enum class TuneMode : uint8_t {
  kModel,     // annealing under the model, then measurements of the best
  kHardware,  // annealing with measurements alone: the papers' baseline
};

struct TuneOptions {
  std::string folder;
  std::string start = "priority";  // priority, none or random
  TuneMode mode = TuneMode::kModel;
  uint64_t seed = 1;
  int64_t moves = 0;        // of all chains together; 0: as many as suit the space (tuner/search/rounds.h)
  int chains = 4;           // run one after the other on one core, or side by side on several
  int64_t candidates = 64;  // distinct configurations kept for measuring, of each round of search
  bool tiles = true;        // also tune tiles
  bool schedules = true;    // and, where there are tiles, the schedules of the heaviest kernels
  std::string library;      // cache folder with schedules of earlier searches (targets/schedule_library.h); empty: none
  // The search ends when compiling and timing candidates took so long in all runs of the folder, even where the budget
  // has time left: what searches are compared at.
  double hardware_seconds = std::numeric_limits<double>::infinity();
  measure::ComparisonOptions comparison;  // of the answer with the default
  measure::MeasurePolicy policy{.repeats = 5, .seconds = 1.0};
  const std::atomic<bool>* cancel = nullptr;
  Progress* progress = nullptr;
};

struct ChangedKernel {
  std::string name;
  double seconds = 0;  // of its default tile and of the chosen one
  double tuned_seconds = 0;
  std::string tile;
};

// A program that the search started from.
struct StartingPoint {
  // One of targets::Tunable::starts; then the best of ours with each kernel in its fastest way (kernels-chosen) and in
  // the compiler's (library).
  std::string name;
  double relative = 0;  // its time over the default's; infinity: it failed
};

// The fastest program that the search had timed by then.
struct BestUntil {
  double hardware_seconds = 0;  // of compiling and timing since the search began
  double relative = 0;          // its time over the default's
};

// What the answer has beside its fusions.
struct ChosenKnob {
  std::string name;   // of what it is about
  std::string way;    // that stands there
  std::string words;  // for people: targets::Tunable::Words
};

// A kernel of a program, timed alone.
struct KernelAlone {
  std::string name;
  double executions = 0;            // in one run of the program
  double seconds = 0, fastest = 0;  // of one execution, as it runs by default and in its fastest way
  int ways = 0;                     // that were tried beside the default
  double total() const { return executions * seconds; }
};

struct TuneReport {
  double default_seconds = 0, best_seconds = 0;  // medians; 0: not measured
  bool improved = false;                         // false: the default is the answer
  // The best that was found, in turn with the default: what decided. None where nothing was found, the run was
  // interrupted (what is then the answer won its own trial, and nothing more), or there was no time.
  std::optional<measure::Comparison> compared;
  std::string undecided;   // why nothing could be said for or against the best, or even the default was not measured
  bool verified = false;   // the answer computes what the evaluator computes
  std::string difference;  // where it does not
  std::string unchecked;   // why the evaluator could not say
  std::vector<std::string> noisy;  // results that rounding decides, a line each
  bool interrupted = false;
  double default_predicted = 0, best_predicted = 0;
  int64_t moves = 0;
  double moves_per_second = 0;
  int64_t measured = 0;  // programs timed now
  int64_t known = 0;     // taken from records
  int64_t failed = 0;
  double hardware_seconds = 0;  // of compiling and timing candidates, in all runs of the folder
  double known_seconds = 0;     // of these, what earlier runs spent on what this one took from the records
  std::vector<std::string> kernels_gone, kernels_new;  // names, of the default and of the tuned program
  std::vector<ChangedKernel> tiles;
  // Where the default is another compiler's own choice: whose it is, and which of its programs the answer is; empty:
  // the answer is a configuration.
  std::string compiler, answer, answer_words;
  targets::Trial chosen;              // the answer
  std::vector<StartingPoint> starts;  // of the search
  std::vector<BestUntil> found;       // each faster than the one before: how soon the search found what it found
  std::vector<ChosenKnob> knobs;      // of the answer
  std::vector<KernelAlone> alone;     // kernels of the default, where it is ours and kernels are timed alone
  // The compiler's own fusions with the answer's knobs, in turn with the answer; 0: there is none, or was no time.
  double own_fusions_seconds = 0;

  // How many times as fast as the default the answer is: by the comparison where there is one.
  double speedup() const;
};

// The budget's time runs already. Fails where the folder cannot be kept, or the default program fails.
absl::StatusOr<TuneReport> Tune(const targets::Tunable& tunable, const TuneOptions& options, gnn::Predictor& predictor,
                                measure::Budget& budget);

// Where the budget ended before a program was ready: the answer is the default, which another compiler makes, and the
// folder says so.
absl::StatusOr<TuneReport> KeepDefault(const std::string& path, const targets::CompilersOwn& own,
                                       const TuneOptions& options, const measure::Budget& budget);

}  // namespace smelt::tuner

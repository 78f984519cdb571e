// The main job: a program in, its best measured and verified configuration out, in a folder that a later run goes on
// from.
//
//   measure::Budget budget(60);
//   TuneReport report = Tune(program, {.folder = "run"}, predictor, budget).value();
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
#include "fusion/target.h"
#include "gnn/predictor.h"
#include "measure/budget.h"
#include "measure/comparison.h"
#include "measure/runner.h"
#include "targets/cpu/codegen/target.h"
#include "targets/program.h"
#include "targets/xla/predictor.h"
#include "targets/xla/program.h"
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
  int64_t moves = 60000;    // of all chains together
  int chains = 4;           // run one after the other on one core, or side by side on several
  int64_t candidates = 64;  // distinct configurations kept for measuring, of each round of search
  bool tiles = true;        // also tune tiles
  // The search ends when compiling and timing candidates took so long in all runs of the folder, even where the budget
  // has time left: what searches are compared at.
  double hardware_seconds = std::numeric_limits<double>::infinity();
  measure::ComparisonOptions comparison;  // of the answer with the default
  cpu::Target target;
  fusion::FusionTarget rules = fusion::FusionTarget::Cpu();  // of legality; without `xla`
  measure::WorkerOptions worker;
  measure::MeasurePolicy policy{.repeats = 5, .seconds = 1.0};
  const std::atomic<bool>* cancel = nullptr;
  Progress* progress = nullptr;
  // --target=xla: the program that XLA compiles (targets/xla/), with `worker` as its child. The default is then XLA's
  // own choice, and its choice without its library a starting point beside ours.
  const xla::XlaProgram* xla = nullptr;
  const xla::Predictor* xla_predictor = nullptr;  // that which `Tune` is given, which also knows bytes
};

struct ChangedKernel {
  std::string name;
  double seconds = 0;  // of its default tile and of the chosen one
  double tuned_seconds = 0;
  std::string tile;
};

// --target=xla: a program that the search started from.
struct StartingPoint {
  // xla_no_library, xla-fusions, priority, xla-cpu, none; then the best of ours with each kernel in its fastest way
  // (kernels-chosen) and with all contractions in the library (library).
  std::string name;
  double relative = 0;  // its time over that of XLA's own choice; infinity: it failed
};

// --target=xla: what the answer is, beside its fusions.
struct XlaAnswer {
  std::string answer;                 // xla, xla_no_library, or a configuration (as_given)
  std::vector<StartingPoint> starts;  // of the search
  // XLA's own fusions with the answer's choices of its library, in turn with the answer; 0: the answer is XLA's own, or
  // there was no time.
  double same_library_seconds = 0;
  std::vector<std::string> library;  // contractions that XLA's library runs
  std::vector<std::string> called;   // loops and convolutions that are functions of their own
  std::vector<std::string> uncut;    // "all fusions", where none is cut into parts for several threads
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
  XlaAnswer xla;  // --target=xla

  // How many times as fast as the default the answer is: by the comparison where there is one.
  double speedup() const;
};

// The budget's time runs already. Fails where the folder cannot be kept, or the default program fails.
absl::StatusOr<TuneReport> Tune(const targets::Program& program, const TuneOptions& options, gnn::Predictor& predictor,
                                measure::Budget& budget);

// --target=xla, where the budget ended before XLA's passes did: the answer is XLA's own choice, and the folder says so.
absl::StatusOr<TuneReport> KeepXlasOwnChoice(const std::string& path, const TuneOptions& options,
                                             const measure::Budget& budget);

}  // namespace smelt::tuner

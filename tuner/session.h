// The main job: a program in, its best measured and verified configuration out, in a folder that a later run goes on
// from.
//
//   TuneReport report = Tune(program, {.folder = "run", .hardware_seconds = 30}, predictor).value();
//
// Chains of simulated annealing search fusion configurations under the model; the best distinct ones are compiled and
// timed in a child process in order of predicted cost, in turn with the default; what their kernels took corrects the
// costs of the next round of search, until the hardware budget is spent. The first result of every new best is compared
// with the evaluator. Tiles of the kernels that take most of the time are then ranked by the model and the best few
// measured. At the end default and best are compared in interleaved rounds: if the gain is not beyond twice the noise,
// the default is the answer (Kaufman et al., MLSys 2021, Section 6.3).
//
// The folder: best.fusion.json, fused.hlo, records.db (every trial, committed before the next starts), report.txt,
// log.txt. The budget is the folder's: a second run takes what the first measured from the records.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/target.h"
#include "gnn/predictor.h"
#include "kernels/target.h"
#include "tuner/measure/runner.h"
#include "tuner/program.h"
#include "tuner/xla/predictor.h"
#include "tuner/xla/program.h"

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
  int64_t moves = 60000;         // of all chains together
  int chains = 4;                // run one after the other on one core, or side by side on several
  double hardware_seconds = 30;  // of compiling and timing candidates
  int64_t candidates = 64;       // distinct configurations kept for measuring, of each round of search
  bool tiles = true;             // also tune tiles
  int64_t tiled_kernels = 8;     // those that take most of the time
  int64_t tiles_per_kernel = 6;  // measured of each
  int final_children = 3;        // of the comparison with the default: processes, and rounds in each
  int final_rounds = 7;
  double verify_seconds = 300;  // limit of the evaluator
  kernels::Target target;
  fusion::FusionTarget rules = fusion::FusionTarget::Cpu();  // of legality; without `xla`
  WorkerOptions worker;
  MeasurePolicy policy{.repeats = 5, .seconds = 1.0};
  const std::atomic<bool>* cancel = nullptr;
  bool progress = true;
  // --target=xla: the program that XLA compiles (tuner/xla/), with `worker` as its child. The default is then XLA's own
  // choice, and its choice without its library a starting point beside ours.
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

struct TuneReport {
  double default_seconds = 0, best_seconds = 0;  // medians of the interleaved comparison
  double noise = 0;                              // relative spread of the default's rounds
  bool improved = false;                         // false: the default is the answer
  bool verified = false;                         // the answer computes what the evaluator computes
  std::string difference;                        // where it does not
  std::string unchecked;                         // why the evaluator could not say
  std::vector<std::string> noisy;                // results that rounding decides, a line each
  bool cancelled = false;
  double default_predicted = 0, best_predicted = 0;
  int64_t moves = 0;
  double moves_per_second = 0;
  int64_t measured = 0;  // programs timed now
  int64_t known = 0;     // taken from records
  int64_t failed = 0;
  double hardware_seconds = 0;
  std::vector<std::string> kernels_gone, kernels_new;  // names, of the default and of the tuned program
  std::vector<ChangedKernel> tiles;
  std::vector<StartingPoint> starts;
  // --target=xla: XLA's own fusions with the answer's choices of its library, in turn with the answer; 0: the answer is
  // XLA's own.
  double same_library_seconds = 0;
  std::vector<std::string> library;  // --target=xla: contractions that XLA's library runs
  std::vector<std::string> called;   // --target=xla: loops and convolutions that are functions of their own
  std::vector<std::string> uncut;    // --target=xla: "all fusions", where none is cut into parts for several threads
  std::string answer;                // --target=xla: xla, xla_no_library, or a configuration (as_given)
};

absl::StatusOr<TuneReport> Tune(const Program& program, const TuneOptions& options, gnn::Predictor& predictor);

}  // namespace smelt::tuner

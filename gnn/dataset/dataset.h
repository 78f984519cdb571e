// A corpus as the models see it: featurised kernels with labels, split by program.
//
//   Dataset data = LoadDataset("corpus", target, {}).value();
//   Split split = SplitByProgram(data, {.seed = 1});
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/hash.h"
#include "fusion/rules.h"
#include "gnn/dataset/packed_graph.h"
#include "gnn/features/features.h"
#include "kernels/cost/analytical.h"
#include "machine/machine.h"
#include "machine/target_id.h"

namespace smelt::gnn {

// One kernel with its measured times.
struct Example {
  std::string program;
  Hash128 hash;
  PackedGraph graph;
  double seconds = 0;                // of the default tile, minimum of the repeats; 0: not measured
  double analytical_seconds = 0;     // the analytical model's estimate
  kernels::cost::CostEstimate here;  // the same under LoadOptions::here; else nothing
  double rough_seconds = 0;          // the cost that heuristics go by (LoadOptions::rough); else 0
  double noise = 0;                  // (median - minimum) / minimum over the repeats
  std::string kind;                  // of the kernel's main operation: per-kind coefficients of the analytical model
  // The tile task: one row of features, one time and one analytical estimate a tile, at least two of them or none.
  // Tiles that nobody timed (LoadOptions::untimed_kernels) have no times.
  std::vector<float> tile_features;
  std::vector<double> tile_seconds;
  std::vector<double> tile_analytical;
};

struct Dataset {
  std::vector<Example> examples;
  machine::TargetId target;              // whose kernels were timed, where; what no record tells is left out
  machine::Machine machine;              // that features were made for
  bool machine_told = false;             // by the records, and not by who loaded them
  std::string device, compiler, policy;  // of the last record that tells
  std::vector<std::string> warnings;     // torn tails, skipped examples, a target that features were not made for

  std::vector<std::string> Programs() const;  // sorted, each once
};

struct LoadOptions {
  int64_t tiles_per_kernel = 512;  // rows kept; more are thinned evenly
  int64_t max_nodes = 4000;        // larger kernels are skipped
  // At most so many of the kernels without timed tiles have tiles without times, for a teacher (train/teach_tiles.h).
  int64_t untimed_kernels = 0;
  int64_t untimed_tiles = 16;  // of each
  // Targets, by TargetId::kind, whose heuristics go by the rough cost of kernels (fusion/kernel_cost.h), which the
  // examples of such a corpus then have.
  std::map<std::string, fusion::Rules> rough;
  // What a calibrated model goes by beside its features (calibration/calibration.h): the machine that it was adapted
  // to.
  std::optional<machine::Machine> here;
  // Features are made for the machine that the records tell, where they tell one, and not for the caller's.
  bool machine_of_records = false;
  // The own formula of the target that the records tell, in the place of the analytical model: in features and in
  // analytical_seconds. Unset, or an unset result: there is none.
  std::function<absl::StatusOr<KernelEstimate>(const machine::TargetId& told)> estimate_of;
};

// Reads and featurises a corpus (or several, separated by commas). A kernel that appears more than once with the same
// program is one example: within a corpus these are visits (corpus/visits.h), and among several corpora the first with
// its time counts, the first with its tiles. Features are made with the figures of `target`; of a corpus whose records
// tell of other machines (by name, levels and widths), with those of the first. Corpora of different targets are an
// error that names both: no model is of two machines or of two compilers.
absl::StatusOr<Dataset> LoadDataset(const std::string& folders, const machine::Machine& target,
                                    const LoadOptions& options);

// Example numbers by use. Programs never straddle.
struct Split {
  std::vector<int64_t> train, validation, test;
};
struct SplitOptions {
  double validation = 0.1;  // share of programs
  double test = 0.1;
  uint64_t seed = 1;
  std::vector<std::string>
      test_programs;  // where given, exactly these are the test set (the manual split of the papers)
  // Program -> its family (similarity.h): programs of one family fall where the family's name falls.
  std::map<std::string, std::string> families = {};
  double learned = 1;  // share of the remaining programs that are the training set; the rest is left out
};
// A number in [0, 1) that follows from the program's name and the seed alone: where a share ends, the next begins.
double ProgramPosition(const std::string& program, uint64_t seed);

// Deterministic: which set a program falls in depends on its name, or its family's, and the seed only, so that a
// growing corpus keeps its split. A kernel whose hash is in the training set is dropped from the other two: equal
// kernels of other programs are no unseen kernels.
Split SplitByProgram(const Dataset& data, const SplitOptions& options);

// What can judge a model that learned from these programs: kernels of other programs that none of these has too.
std::vector<int64_t> UnseenBy(const Dataset& data, const std::set<std::string>& programs);

}  // namespace smelt::gnn

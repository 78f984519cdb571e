// Errors of models on a corpus, in the layout of the TPU paper's Tables 2 and 3 (Kaufman et al., MLSys 2021).
//
//   EvalTable table = EvaluateModels(data, split.test, {AnalyticalContender(factors)}).value();
//   std::cout << FormatTable(table);
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "gnn/eval/contender.h"
#include "gnn/model/model_file.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::gnn {

// Fusion task, kernels at least or below 5 us (the paper's line): mean absolute percentage error and Kendall's tau, by
// program and over programs.
struct FusionError {
  double mape = 0;  // a share: 0.05 is 5 %
  double tau = 0;
  int64_t kernels = 0;
};
struct TileError {
  double tau = 0;  // mean over kernels; NaN, like the slowdowns at 5 and 10, of who ranks no tiles but takes one
  double ape = 0;  // program level: time of the chosen tiles over time of the best tiles, minus 1
  double slowdown1 = 0, slowdown5 = 0, slowdown10 = 0;  // mean over kernels
  int64_t kernels = 0;
};

struct ContenderErrors {
  std::string name;
  std::map<std::string, FusionError> large, small;  // by program: >= 5 us, < 5 us
  std::map<std::string, TileError> tiles;           // by program
};

struct EvalTable {
  std::vector<ContenderErrors> contenders;
  double noise = 0;  // median spread of repeats of the same kernel: nothing can be better than that
  int64_t kernels = 0;
};

inline constexpr double kLargeKernelSeconds = 5e-6;

// Root of the mean square of log(predicted / measured); 0 where none of the examples has a time.
absl::StatusOr<double> LogDeviation(const Dataset& data, const std::vector<int64_t>& examples, const TaskModel& fusion);

absl::StatusOr<EvalTable> EvaluateModels(const Dataset& data, const std::vector<int64_t>& examples,
                                         const std::vector<Contender>& contenders);

// A table for people: one row a program, then median and mean.
std::string FormatTable(const EvalTable& table);
nlohmann::json TableToJson(const EvalTable& table);
// Every kernel with a time, as comma-separated values: program, hash, kind, measured seconds, and those of each
// contender that predicts times. `smelt corpus export` has the kernels by their hashes.
absl::StatusOr<std::string> KernelsCsv(const Dataset& data, const std::vector<int64_t>& examples,
                                       const std::vector<Contender>& contenders);
// What a contender with `seconds` predicts against what was measured, logarithmic axes: a self-contained SVG.
absl::StatusOr<std::string> ScatterSvg(const Dataset& data, const std::vector<int64_t>& examples,
                                       const Contender& contender);

}  // namespace smelt::gnn

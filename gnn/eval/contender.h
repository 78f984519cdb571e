// What an evaluation compares: anything that predicts the seconds of kernels, ranks the tiles of one, or both.
//
//   Contender network = NetworkContender("graphsage", &model.tasks["fusion"], nullptr).value();
//   std::vector<double> seconds = network.seconds(data, split.test).value();
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gnn/dataset/dataset.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"

namespace smelt::gnn {

struct Contender {
  std::string name;
  // Seconds of each of these examples. Unset: it predicts no times.
  std::function<absl::StatusOr<std::vector<double>>(const Dataset&, const std::vector<int64_t>& examples)> seconds;
  // Scores of the tiles of an example, lower is better. Unset: it ranks no tiles.
  std::function<absl::StatusOr<std::vector<double>>(const Example&)> tile_scores;
  // Measured seconds of the one tile that it takes, where it ranks no others; 0: none of this example.
  std::function<double(const Example&)> chosen_seconds;
};

// What a network predicts of these examples: log times (gnn/features/log_time.h), and what its last layer weighs.
std::vector<double> LogTimesOf(const Engine& engine, const Dataset& data, absl::Span<const int64_t> examples,
                               std::vector<float>* hidden = nullptr);

// Networks for the tasks that they were trained for; null: for that task there is none. `calibration`: of the fusion
// task, for examples with Example::here. InvalidArgument: weights that do not fit (Engine::Create).
absl::StatusOr<Contender> NetworkContender(std::string name, const TaskModel* fusion, const TaskModel* tile,
                                           std::optional<Calibration> calibration = std::nullopt);

// The analytical estimate times the factor of the kernel's kind; tiles by the estimate as it is.
Contender AnalyticalContender(std::map<std::string, double> factors);

// Example::rough_seconds, as it is.
Contender RoughContender();

// The compiler's own tile, whose time is Example::seconds.
Contender DefaultTileContender();

// Median measured / estimated time by kernel kind: factors by which the analytical model's seconds become seconds of
// this machine.
std::map<std::string, double> FitAnalyticalFactors(const Dataset& data, const std::vector<int64_t>& examples);

}  // namespace smelt::gnn

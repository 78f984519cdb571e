#include "gnn/eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gnn/eval/metrics.h"
#include "gnn/features/log_time.h"
#include "gnn/native/engine.h"

namespace smelt::gnn {
namespace {

struct Pairs {
  std::vector<double> predicted, measured;
};

std::map<std::string, FusionError> Errors(const std::map<std::string, Pairs>& programs) {
  std::map<std::string, FusionError> errors;
  for (const auto& [program, pairs] : programs) {
    errors[program] = {MeanAbsolutePercentageError(pairs.predicted, pairs.measured),
                       KendallTau(pairs.predicted, pairs.measured), static_cast<int64_t>(pairs.measured.size())};
  }
  return errors;
}

struct TileSums {
  double chosen = 0, best = 0, tau = 0, s1 = 0, s5 = 0, s10 = 0;
  int64_t kernels = 0;

  // A kernel of who takes one tile and ranks no others.
  void AddOne(double seconds, double best_seconds) {
    chosen += seconds;
    best += best_seconds;
    s1 += seconds / best_seconds - 1;
    tau = s5 = s10 = std::numeric_limits<double>::quiet_NaN();
    ++kernels;
  }
};

}  // namespace

absl::StatusOr<double> LogDeviation(const Dataset& data, const std::vector<int64_t>& examples,
                                    const TaskModel& fusion) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Create(fusion));
  std::vector<int64_t> timed;
  std::vector<double> labels;
  for (const int64_t i : examples) {
    if (data.examples[i].seconds <= 0) continue;
    timed.push_back(i);
    labels.push_back(LogTime(data.examples[i].seconds));
  }
  const std::vector<double> predicted = LogTimesOf(*engine, data, timed);
  double squares = 0;
  for (size_t i = 0; i < labels.size(); ++i) squares += (predicted[i] - labels[i]) * (predicted[i] - labels[i]);
  return labels.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(labels.size()));
}

absl::StatusOr<EvalTable> EvaluateModels(const Dataset& data, const std::vector<int64_t>& examples,
                                         const std::vector<Contender>& contenders) {
  EvalTable table;
  table.kernels = static_cast<int64_t>(examples.size());
  std::vector<double> noise;
  std::vector<int64_t> timed, tiled;
  for (const int64_t i : examples) {
    const Example& example = data.examples[i];
    if (example.seconds > 0) {
      timed.push_back(i);
      noise.push_back(example.noise);
    }
    if (example.tile_seconds.size() >= 2) tiled.push_back(i);
  }
  table.noise = Median(noise);
  for (const Contender& contender : contenders) {
    ContenderErrors& errors = table.contenders.emplace_back();
    errors.name = contender.name;
    std::map<std::string, Pairs> large, small;
    std::map<std::string, TileSums> tiles;
    if (contender.seconds) {
      SMELT_ASSIGN_OR_RETURN(const std::vector<double> predicted, contender.seconds(data, timed));
      for (size_t k = 0; k < timed.size(); ++k) {
        const Example& example = data.examples[timed[k]];
        Pairs& pairs = (example.seconds >= kLargeKernelSeconds ? large : small)[example.program];
        pairs.predicted.push_back(predicted[k]);
        pairs.measured.push_back(example.seconds);
      }
    }
    for (size_t k = 0; k < tiled.size(); ++k) {
      const Example& example = data.examples[tiled[k]];
      const double best = *std::min_element(example.tile_seconds.begin(), example.tile_seconds.end());
      if (contender.chosen_seconds && contender.chosen_seconds(example) > 0)
        tiles[example.program].AddOne(contender.chosen_seconds(example), best);
      if (!contender.tile_scores) continue;
      SMELT_ASSIGN_OR_RETURN(const std::vector<double> scores, contender.tile_scores(example));
      TileSums& sums = tiles[example.program];
      sums.chosen += example.tile_seconds[BestByScore(scores)];
      sums.best += best;
      sums.tau += KendallTau(scores, example.tile_seconds);
      sums.s1 += SlowdownAt(scores, example.tile_seconds, 1);
      sums.s5 += SlowdownAt(scores, example.tile_seconds, 5);
      sums.s10 += SlowdownAt(scores, example.tile_seconds, 10);
      ++sums.kernels;
    }
    errors.large = Errors(large);
    errors.small = Errors(small);
    for (const auto& [program, sums] : tiles) {
      const double n = static_cast<double>(sums.kernels);
      errors.tiles[program] = {sums.tau / n, sums.chosen / sums.best - 1, sums.s1 / n, sums.s5 / n, sums.s10 / n,
                               sums.kernels};
    }
  }
  return table;
}

}  // namespace smelt::gnn

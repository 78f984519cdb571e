#include "gnn/eval/evaluate.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gnn/eval/metrics.h"
#include "gnn/native/engine.h"

namespace smelt::gnn {
namespace {

double Factor(const std::map<std::string, double>& factors, const std::string& kind) {
  auto it = factors.find(kind);
  return it == factors.end() ? 1.0 : it->second;
}

// A contender ready to predict.
class Model {
 public:
  static absl::StatusOr<Model> Create(const Contender& contender, const std::map<std::string, double>& factors) {
    Model model;
    model.analytical_ = contender.analytical;
    model.rough_ = contender.rough;
    model.factors_ = &factors;
    if (contender.fusion != nullptr) {
      SMELT_ASSIGN_OR_RETURN(model.fusion_, Engine::Create(*contender.fusion));
    }
    if (contender.tile != nullptr) {
      SMELT_ASSIGN_OR_RETURN(model.tile_, Engine::Create(*contender.tile));
    }
    return model;
  }
  bool PredictsTimes() const { return analytical_ || rough_ || fusion_ != nullptr; }
  bool RanksTiles() const { return analytical_ || tile_ != nullptr; }
  double Seconds(const Example& example) const {
    if (rough_) return example.rough_seconds;
    if (analytical_) return example.analytical_seconds * Factor(*factors_, example.kind);
    const KernelGraph* graph = &example.graph;
    return std::exp(fusion_->PredictLogTimes(absl::MakeConstSpan(&graph, 1))[0]) * 1e-7;
  }
  std::vector<double> Scores(const Example& example) const {
    return analytical_ ? example.tile_analytical : tile_->ScoreTiles(example.graph, example.tile_features);
  }

 private:
  bool analytical_ = false, rough_ = false;
  const std::map<std::string, double>* factors_ = nullptr;
  std::unique_ptr<Engine> fusion_, tile_;
};

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
};

}  // namespace

std::map<std::string, double> FitAnalyticalFactors(const Dataset& data, const std::vector<int64_t>& examples) {
  std::map<std::string, std::vector<double>> ratios;
  for (int64_t i : examples) {
    const Example& example = data.examples[i];
    if (example.seconds > 0 && example.analytical_seconds > 0)
      ratios[example.kind].push_back(example.seconds / example.analytical_seconds);
  }
  std::map<std::string, double> factors;
  for (auto& [kind, values] : ratios) factors[kind] = Median(std::move(values));
  return factors;
}

absl::StatusOr<double> LogDeviation(const Dataset& data, const std::vector<int64_t>& examples,
                                    const TaskModel& fusion) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Create(fusion));
  std::vector<const KernelGraph*> graphs;
  std::vector<double> labels;
  for (const int64_t i : examples) {
    if (data.examples[i].seconds <= 0) continue;
    graphs.push_back(&data.examples[i].graph);
    labels.push_back(std::log(data.examples[i].seconds / 1e-7));
  }
  const std::vector<double> predicted = engine->PredictLogTimes(graphs);
  double squares = 0;
  for (size_t i = 0; i < labels.size(); ++i) squares += (predicted[i] - labels[i]) * (predicted[i] - labels[i]);
  return labels.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(labels.size()));
}

absl::StatusOr<EvalTable> EvaluateModels(const Dataset& data, const std::vector<int64_t>& examples,
                                         const std::vector<Contender>& contenders,
                                         const std::map<std::string, double>& analytical_factors) {
  EvalTable table;
  std::vector<double> noise;
  for (int64_t i : examples) {
    if (data.examples[i].seconds > 0) noise.push_back(data.examples[i].noise);
  }
  table.noise = Median(noise);
  table.kernels = static_cast<int64_t>(examples.size());
  for (const Contender& contender : contenders) {
    SMELT_ASSIGN_OR_RETURN(const Model model, Model::Create(contender, analytical_factors));
    ContenderErrors& errors = table.contenders.emplace_back();
    errors.name = contender.name;
    std::map<std::string, Pairs> large, small;
    std::map<std::string, TileSums> tiles;
    for (int64_t i : examples) {
      const Example& example = data.examples[i];
      if (example.seconds > 0 && model.PredictsTimes()) {
        Pairs& pairs = (example.seconds >= kLargeKernelSeconds ? large : small)[example.program];
        pairs.predicted.push_back(model.Seconds(example));
        pairs.measured.push_back(example.seconds);
      }
      if (example.tile_seconds.size() >= 2 && model.RanksTiles()) {
        const std::vector<double> scores = model.Scores(example);
        TileSums& sums = tiles[example.program];
        sums.chosen += example.tile_seconds[BestByScore(scores)];
        sums.best += *std::min_element(example.tile_seconds.begin(), example.tile_seconds.end());
        sums.tau += KendallTau(scores, example.tile_seconds);
        sums.s1 += SlowdownAt(scores, example.tile_seconds, 1);
        sums.s5 += SlowdownAt(scores, example.tile_seconds, 5);
        sums.s10 += SlowdownAt(scores, example.tile_seconds, 10);
        ++sums.kernels;
      }
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

#include "gnn/eval/contender.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "gnn/eval/metrics.h"
#include "gnn/features/log_time.h"
#include "gnn/native/engine.h"

namespace smelt::gnn {
namespace {

// A contender whose seconds of a kernel are a formula.
Contender FormulaContender(std::string name, std::function<double(const Example&)> formula) {
  Contender contender{std::move(name)};
  contender.seconds = [formula = std::move(formula)](const Dataset& data, const std::vector<int64_t>& examples) {
    std::vector<double> seconds;
    seconds.reserve(examples.size());
    for (const int64_t i : examples) seconds.push_back(formula(data.examples[i]));
    return absl::StatusOr<std::vector<double>>(std::move(seconds));
  };
  return contender;
}

}  // namespace

std::vector<double> LogTimesOf(const Engine& engine, const Dataset& data, absl::Span<const int64_t> examples,
                               std::vector<float>* hidden) {
  constexpr size_t kAtOnce = 1024;  // graphs that are unpacked
  std::vector<double> times;
  for (size_t begin = 0; begin < examples.size(); begin += kAtOnce) {
    std::vector<KernelGraph> graphs;
    std::vector<const KernelGraph*> pointers;
    for (const int64_t i : examples.subspan(begin, kAtOnce)) graphs.push_back(data.examples[i].graph.Unpack());
    for (const KernelGraph& graph : graphs) pointers.push_back(&graph);
    std::vector<float> of_these;
    const std::vector<double> some = engine.PredictLogTimes(pointers, hidden != nullptr ? &of_these : nullptr);
    times.insert(times.end(), some.begin(), some.end());
    if (hidden != nullptr) hidden->insert(hidden->end(), of_these.begin(), of_these.end());
  }
  return times;
}

absl::StatusOr<Contender> NetworkContender(std::string name, const TaskModel* fusion, const TaskModel* tile,
                                           std::optional<Calibration> calibration) {
  Contender contender{std::move(name)};
  if (fusion != nullptr) {
    SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<Engine> engine, Engine::Create(*fusion));
    contender.seconds = [engine, calibration = std::move(calibration)](const Dataset& data,
                                                                       const std::vector<int64_t>& examples) {
      std::vector<float> hidden;
      std::vector<double> seconds = LogTimesOf(*engine, data, examples, calibration ? &hidden : nullptr);
      const auto width = static_cast<size_t>(engine->HiddenWidth());
      for (size_t k = 0; k < seconds.size(); ++k) {
        const Example& example = data.examples[examples[k]];
        seconds[k] = calibration ? calibration
                                       ->Predict(example.kind, example.here, example.graph.LogEstimate(),
                                                 &hidden[k * width], width)
                                       .seconds
                                 : SecondsOfLogTime(seconds[k]);
      }
      return absl::StatusOr<std::vector<double>>(std::move(seconds));
    };
  }
  if (tile != nullptr) {
    SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<Engine> engine, Engine::Create(*tile));
    contender.tile_scores = [engine](const Example& example) {
      return absl::StatusOr<std::vector<double>>(engine->ScoreTiles(example.graph.Unpack(), example.tile_features));
    };
  }
  return contender;
}

Contender AnalyticalContender(std::map<std::string, double> factors) {
  Contender contender = FormulaContender("analytical", [factors = std::move(factors)](const Example& example) {
    const auto factor = factors.find(example.kind);
    return example.analytical_seconds * (factor == factors.end() ? 1.0 : factor->second);
  });
  contender.tile_scores = [](const Example& example) {
    return absl::StatusOr<std::vector<double>>(example.tile_analytical);
  };
  return contender;
}

Contender DefaultTileContender() {
  Contender contender{"default"};
  contender.chosen_seconds = [](const Example& example) { return example.seconds; };
  return contender;
}

Contender RoughContender() {
  return FormulaContender("rough cost", [](const Example& example) { return example.rough_seconds; });
}

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

}  // namespace smelt::gnn

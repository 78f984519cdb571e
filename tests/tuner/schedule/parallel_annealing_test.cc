#include "tuner/schedule/parallel_annealing.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <random>
#include <set>

#include "base/clock.h"
#include "gtest/gtest.h"
#include "tests/tuner/schedule/product_task.h"
#include "tuner/schedule/cost_model.h"
#include "tuner/schedule/diverse_selection.h"
#include "tuner/schedule/proposer.h"

namespace smelt::tuner {
namespace {

// Highest where every knob has its first option; all scores are below zero.
absl::StatusOr<std::vector<double>> Distance(absl::Span<const Config> configs) {
  std::vector<double> scores;
  for (const Config& config : configs) {
    double sum = 0;
    for (const int value : config.values()) sum += value;
    scores.push_back(-1 - sum);
  }
  return scores;
}

TEST(ParallelAnnealing, FindsMoreThanAsManyRandomPointsAmongNegativeScores) {
  const ProductTask product;
  ParallelAnnealing annealing(product.task.space, {.chains = 16, .steps = 300, .keep = 10, .seed = 1});
  const std::vector<RankedConfig> found = annealing.Run(Distance, {}).value();
  ASSERT_EQ(found.size(), 10u);
  std::mt19937_64 random(1);
  double best_random = -1e9;
  for (int64_t i = 0; i < annealing.proposals(); ++i)
    best_random = std::max(best_random, Distance({product.task.space.Random(random)}).value()[0]);
  EXPECT_GT(found[0].score, best_random);
  for (size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i].score, found[i - 1].score);
}

TEST(ParallelAnnealing, LeavesOutWhatWasMeasuredAndWhereItMustNotGo) {
  const ProductTask product;
  const auto first = ParallelAnnealing(product.task.space, {.chains = 8, .steps = 50}).Run(Distance, {}).value();
  ConfigSet measured;
  for (size_t i = 0; i < 5; ++i) measured.insert(first[i].config.values());
  const auto second = ParallelAnnealing(product.task.space, {.chains = 8, .steps = 50}).Run(Distance, measured);
  for (const RankedConfig& one : *second) EXPECT_FALSE(measured.contains(one.config.values()));
  const auto nowhere = [](absl::Span<const Config> configs) -> absl::StatusOr<std::vector<double>> {
    return std::vector<double>(configs.size(), -std::numeric_limits<double>::infinity());
  };
  EXPECT_TRUE(ParallelAnnealing(product.task.space, {.chains = 4, .steps = 5}).Run(nowhere, {}).value().empty());
}

TEST(ParallelAnnealing, DoesTheSameOnAnyNumberOfThreads) {
  const ProductTask product;
  std::vector<std::string> first;
  for (const int threads : {1, 2, 3}) {
    ParallelAnnealing annealing(product.task.space,
                                {.chains = 32, .steps = 40, .batch = 8, .keep = 20, .threads = threads, .seed = 9});
    std::vector<std::string> found;
    for (int run = 0; run < 2; ++run) {
      const std::vector<RankedConfig> best = annealing.Run(Distance, {}).value();
      for (const RankedConfig& one : best) found.push_back(one.config.ToString());
    }
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << threads;
  }
}

TEST(ParallelAnnealing, TellsHowLongTheChainsOfThePaperTake) {
  const ProductTask product(512);
  CandidateFeatures features(product.task, 1);
  const auto model = BoostedCostModel(features, {.representation = Representation::kKnobs});
  std::mt19937_64 random(1);
  ConfigSet tried;
  std::vector<Config> points;
  AddRandom(product.task, 256, random, HasSchedule(product.task), tried, points);
  std::vector<Measured> measured;
  for (size_t i = 0; i < points.size(); ++i) measured.push_back({points[i], Distance({points[i]}).value()[0] / 1e3});
  ASSERT_TRUE(model->Fit(measured).ok());
  const auto energy = [&](absl::Span<const Config> configs) -> absl::StatusOr<std::vector<double>> {
    std::vector<double> scores;
    const std::vector<Scored> scored = model->Score(configs).value();
    for (const Scored& one : scored) scores.push_back(one.score);
    return scores;
  };
  ParallelAnnealing annealing(product.task.space, {.patience = 500, .threads = 2});
  const Clock::time_point start = Clock::now();
  const std::clock_t processors = std::clock();
  ASSERT_TRUE(annealing.Run(energy, {}).ok());
  EXPECT_EQ(annealing.proposals(), 128 * 500);
  std::printf("128 chains x 500 steps on trees of the knobs' values: %.2f s, %.2f s of all processors\n", Since(start),
              static_cast<double>(std::clock() - processors) / CLOCKS_PER_SEC);
}

// Equation 3 by all choices of three of the first six.
TEST(SelectDiverse, ComesWithinItsBoundOfTheBestChoice) {
  const ProductTask product;
  std::mt19937_64 random(3);
  std::vector<RankedConfig> ranked;
  for (int i = 0; i < 6; ++i) ranked.push_back({product.task.space.Random(random), 1 - 0.1 * i});
  const SelectionOptions options{.alpha = 0.5, .lambda = 2};
  double mean = 0, squares = 0;
  for (const RankedConfig& one : ranked) {
    mean += one.score / 6;
    squares += one.score * one.score / 6;
  }
  const double worth = options.alpha * std::sqrt(squares - mean * mean);
  const auto value = [&](const std::vector<size_t>& chosen) {
    double sum = 0;
    for (size_t knob = 0; knob < product.task.space.knobs().size(); ++knob) {
      std::set<int> values;
      for (const size_t i : chosen) values.insert(ranked[i].config.values()[knob]);
      sum += worth * static_cast<double>(values.size());
    }
    for (const size_t i : chosen) sum += ranked[i].score;
    return sum;
  };
  double best = 0;
  for (size_t a = 0; a < 6; ++a) {
    for (size_t b = a + 1; b < 6; ++b) {
      for (size_t c = b + 1; c < 6; ++c) best = std::max(best, value({a, b, c}));
    }
  }
  const std::vector<size_t> chosen = SelectDiverse(ranked, 3, options);
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_GE(value(chosen), (1 - 1 / std::exp(1.0)) * best);
  // Without a wider look, scores alone decide.
  EXPECT_EQ(SelectDiverse(ranked, 3, {.alpha = 0.5, .lambda = 1}).size(), 3u);
  EXPECT_EQ(SelectDiverse(ranked, 3, {.alpha = 0, .lambda = 2}), (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(SelectDiverse({}, 3, options).empty());
}

}  // namespace
}  // namespace smelt::tuner

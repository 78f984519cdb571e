#include "tuner/schedule/proposer.h"

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/schedule/product_task.h"
#include "tuner/schedule/strategies.h"

namespace smelt::tuner {
namespace {

// What a machine would say: a planted optimum, the nearer the faster, and some points fail.
double PlantedScore(const ScheduleTask& task, const Config& config) {
  double distance = 0;
  for (size_t i = 0; i < task.space.knobs().size(); ++i) {
    const double options = static_cast<double>(task.space.knobs()[i].options.size());
    if (options < 2) continue;
    distance += std::abs(config.values()[i] / (options - 1) - 0.3) / static_cast<double>(task.space.knobs().size());
  }
  return config.values()[0] % 7 == 6 ? 0 : std::exp(-4 * distance);
}

using Score = std::function<double(const Config&)>;

// The best of so many trials of a strategy.
double BestOf(const ScheduleTask& task, SearchOptions options, size_t trials, const Score& score,
              double* mean_of_later = nullptr) {
  options.trials = static_cast<int64_t>(trials);
  const std::unique_ptr<Search> search = MakeSearch(task, options).value();
  std::vector<Measured> measured;
  ConfigSet tried;
  double best = 0;
  while (measured.size() < trials) {
    EXPECT_TRUE(search->proposer->Learn(measured).ok());
    const std::vector<Config> batch = search->proposer->Next(16, tried).value();
    if (batch.empty()) break;
    for (const Config& config : batch) {
      EXPECT_TRUE(tried.insert(config.values()).second) << "proposed twice: " << config.ToString();
      EXPECT_TRUE(task.space.ScheduleFor(config).ok()) << config.ToString();
      measured.push_back({config, score(config)});
      best = std::max(best, measured.back().score);
    }
  }
  // What was proposed once something was known.
  if (mean_of_later != nullptr) {
    double sum = 0;
    for (size_t i = trials / 3; i < measured.size(); ++i) sum += measured[i].score;
    *mean_of_later = sum / static_cast<double>(measured.size() - trials / 3);
  }
  return best;
}

TEST(Proposer, ModelsFindMoreThanRandomPointsDo) {
  const ProductTask product;
  const Score score = [&](const Config& config) { return PlantedScore(product.task, config); };
  double random = 0, rank = 0, regression = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SearchOptions options{.representation = Representation::kKnobs, .seed = seed};
    options.strategy = "random";
    random += BestOf(product.task, options, 80, score) / 2;
    options.strategy = "gbt-rank";
    rank += BestOf(product.task, options, 80, score) / 2;
    options.strategy = "gbt-regression";
    regression += BestOf(product.task, options, 80, score) / 2;
  }
  EXPECT_GT(rank, 1.05 * random);
  EXPECT_GT(regression, 1.05 * random);
}

// The score is a number about the loops, and the model of loops is followed through its imitation on knobs.
TEST(Proposer, ModelOfLoopsIsFollowedThroughItsImitation) {
  const ProductTask product;
  CandidateFeatures features(product.task, 1);
  std::mt19937_64 random(11);
  ConfigSet tried;
  std::vector<Config> points;
  AddRandom(product.task, 60, random, HasSchedule(product.task), tried, points);
  const FeatureTable table = features.Of(points, Representation::kInvariant);
  size_t lively = 0, most = 0;
  float low = 0, high = 1;
  for (size_t column = 0; column < static_cast<size_t>(table.rows.columns); ++column) {
    std::set<float> values;
    for (int64_t row = 0; row < table.rows.size(); ++row) values.insert(table.rows[row][column]);
    if (values.size() <= most) continue;
    most = values.size();
    lively = column;
    low = *values.begin();
    high = *values.rbegin();
  }
  const Score score = [&](const Config& config) {
    const FeatureTable one = features.Of({config}, Representation::kInvariant);
    return std::exp(-2 * (one.rows[0][lively] - low) / (high - low));
  };
  SearchOptions options{.representation = Representation::kContextRelation, .seed = 1};
  double by_model = 0, at_random = 0;
  options.strategy = "gbt-rank";
  BestOf(product.task, options, 48, score, &by_model);
  options.strategy = "random";
  BestOf(product.task, options, 48, score, &at_random);
  EXPECT_GT(by_model, 1.1 * at_random);
}

TEST(Proposer, BaselinesProposeWithoutRepetition) {
  const ProductTask product;
  const Score score = [&](const Config& config) { return PlantedScore(product.task, config); };
  for (const char* strategy : {"random", "genetic", "grid"})
    EXPECT_GT(BestOf(product.task, {.strategy = strategy, .seed = 5}, 160, score), 0) << strategy;
}

TEST(Proposer, OneSeedGivesOneSequence) {
  const ProductTask product;
  for (const char* strategy : {"random", "genetic", "gbt-rank"}) {
    for (const int threads : {1, 2}) {
      std::vector<std::string> first;
      for (int turn = 0; turn < 2; ++turn) {
        const auto search = MakeSearch(product.task, {.strategy = strategy,
                                                      .representation = Representation::kKnobs,
                                                      .threads = turn == 0 ? 1 : threads,
                                                      .seed = 3})
                                .value();
        std::vector<Measured> measured;
        std::vector<std::string> all;
        ConfigSet tried;
        for (int round = 0; round < 3; ++round) {
          ASSERT_TRUE(search->proposer->Learn(measured).ok());
          const std::vector<Config> batch = search->proposer->Next(8, tried).value();
          for (const Config& config : batch) {
            tried.insert(config.values());
            measured.push_back({config, PlantedScore(product.task, config)});
            all.push_back(config.ToString());
          }
        }
        if (turn == 0) first = all;
        EXPECT_EQ(all, first) << strategy << ", " << threads << " threads";
      }
    }
  }
}

// How many knobs differ, and of what kind one of them is.
std::pair<int, kernels::config::Knob::Kind> Difference(const ScheduleTask& task, const Config& a, const Config& b) {
  std::pair<int, kernels::config::Knob::Kind> difference;
  for (size_t i = 0; i < task.space.knobs().size(); ++i) {
    if (a.values()[i] == b.values()[i]) continue;
    ++difference.first;
    difference.second = task.space.knobs()[i].kind;
  }
  return difference;
}

TEST(Proposer, ChangesAreOfOneDecisionEachChoicesFirst) {
  using Kind = kernels::config::Knob::Kind;
  const ProductTask product;
  const Config start = product.task.space.Default();
  ConfigSet taken;
  std::vector<Config> changes;
  AddChanges(product.task, start, 1000, HasSchedule(product.task), taken, changes);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(Difference(product.task, start, changes[0]).second, Kind::kChoice);
  bool after_choices = false;
  int splits = 0;
  for (const Config& config : changes) {
    const auto [knobs, kind] = Difference(product.task, start, config);
    EXPECT_EQ(knobs, 1) << config.ToString();
    splits += kind == Kind::kSplit;
    after_choices |= kind != Kind::kChoice;
    EXPECT_EQ(after_choices, kind != Kind::kChoice) << config.ToString();
  }
  EXPECT_TRUE(after_choices);
  // A few of hundreds of splits are one step away.
  EXPECT_GT(splits, 0);
  EXPECT_LE(splits, 40);
  // Nothing twice, and no more than asked for.
  const size_t all = changes.size();
  AddChanges(product.task, start, 1000, HasSchedule(product.task), taken, changes);
  EXPECT_EQ(changes.size(), all);
  std::vector<Config> few;
  ConfigSet none;
  AddChanges(product.task, start, 2, HasSchedule(product.task), none, few);
  EXPECT_EQ(few.size(), 2);
}

// A choice that random points and a model's first lessons say little of is among the first trials, under any seed.
TEST(Proposer, SearchesBeginWithTheDefaultsOtherChoices) {
  const ProductTask product;
  std::vector<std::vector<Config>> batches;
  for (const uint64_t seed : {1, 2}) {
    const auto search = MakeSearch(product.task, {.representation = Representation::kKnobs, .seed = seed}).value();
    ASSERT_TRUE(search->proposer->Learn({}).ok());
    batches.push_back(search->proposer->Next(16, {}).value());
  }
  EXPECT_EQ(Difference(product.task, product.task.space.Default(), batches[0][0]).first, 1);
  EXPECT_EQ(batches[0][0], batches[1][0]);
  EXPECT_NE(batches[0].back(), batches[1].back());
}

TEST(Proposer, UnknownNamesAndMissingLibrariesAreErrors) {
  const ProductTask product(16);
  EXPECT_THAT(MakeSearch(product.task, {.strategy = "hope"}).status().message(), testing::HasSubstr("gbt-rank, "));
  EXPECT_EQ(MakeSearch(product.task, {.strategy = "treegru-rank"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(CostModel, LearnsFromFailuresAndKnowsNothingBeforehand) {
  const ProductTask product;
  CandidateFeatures features(product.task, 1);
  const auto model = BoostedCostModel(features, {.representation = Representation::kKnobs});
  EXPECT_FALSE(model->CanScore());
  EXPECT_FALSE(model->Score({product.task.space.Default()}).ok());
  std::mt19937_64 random(1);
  std::vector<Measured> measured;
  ConfigSet tried;
  std::vector<Config> points;
  AddRandom(product.task, 200, random, HasSchedule(product.task), tried, points);
  // Whatever has the first option of the first knob fails, all else is alike.
  for (const Config& config : points) measured.push_back({config, config.values()[0] < 3 ? 0.0 : 1.0});
  ASSERT_TRUE(model->Fit(measured).ok());
  const std::vector<Scored> scores = model->Score(points).value();
  double failing = 0, working = 0, failures = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    (measured[i].score == 0 ? failing : working) += scores[i].score;
    failures += measured[i].score == 0;
  }
  ASSERT_GT(failures, 0);
  EXPECT_LT(failing / failures, working / (200 - failures));
}

TEST(CostModel, EnsemblesDoubtWhatTheyHaveNotSeen) {
  const ProductTask product;
  CandidateFeatures features(product.task, 1);
  const auto model = BoostedCostModel(
      features, {.representation = Representation::kKnobs, .objective = Objective::kRegression, .members = 5});
  std::mt19937_64 random(1);
  ConfigSet tried;
  std::vector<Config> points;
  AddRandom(product.task, 80, random, HasSchedule(product.task), tried, points);
  std::vector<Measured> measured;
  for (const Config& config : points) measured.push_back({config, PlantedScore(product.task, config)});
  ASSERT_TRUE(model->Fit(measured).ok());
  double doubt = 0;
  const std::vector<Scored> scores = model->Score(points).value();
  for (const Scored& scored : scores) doubt += scored.deviation;
  EXPECT_GT(doubt, 0);
}

TEST(CostModel, AcquisitionWeighsDoubt) {
  const Scored sure{0.5, 0}, doubtful{0.4, 0.3};
  EXPECT_EQ(Acquire(doubtful, Acquisition::kMean, 0.5), 0.4);
  EXPECT_DOUBLE_EQ(Acquire(doubtful, Acquisition::kUpperBound, 0.5), 0.7);
  // The expected gain of a normal variable over a bound: s * (z * Phi(z) + phi(z)) with z = -1/3.
  EXPECT_NEAR(Acquire(doubtful, Acquisition::kExpectedImprovement, 0.5), 0.07633, 1e-4);
  EXPECT_EQ(Acquire(sure, Acquisition::kUpperBound, 0.5), 0.5);
}

}  // namespace
}  // namespace smelt::tuner

#include "tuner/search/annealing.h"

#include <set>

#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

// Bits with a hidden target; the cost has pairs that only pay together, so that plain descent from the start gets
// stuck. `rest` is what no bit changes.
class Puzzle : public SearchState {
 public:
  explicit Puzzle(int bits, double rest = 1) : bits_(bits, false), rest_(rest) {}

  absl::StatusOr<double> Mutate(Random& random, bool* changed) override {
    last_ = std::uniform_int_distribution<size_t>(0, bits_.size() - 1)(random);
    bits_[last_] = !bits_[last_];
    *changed = true;
    return cost();
  }
  void Undo() override { bits_[last_] = !bits_[last_]; }
  double cost() const override {
    double cost = rest_;
    for (size_t i = 0; i + 1 < bits_.size(); i += 2) {
      if (bits_[i] != bits_[i + 1]) cost += 0.01;
      if (bits_[i] && bits_[i + 1]) cost -= 0.02;
    }
    return cost;
  }
  std::string Snapshot() const override {
    std::string text;
    for (bool bit : bits_) text += bit ? '1' : '0';
    return text;
  }

 private:
  std::vector<bool> bits_;
  const double rest_;
  size_t last_ = 0;
};

// Bits that pay one by one, each more than the one before.
class Switches : public SearchState {
 public:
  explicit Switches(int64_t bits) : bits_(static_cast<size_t>(bits), false) {}

  absl::StatusOr<double> Mutate(Random& random, bool* changed) override {
    return Step(static_cast<int64_t>(random() % bits_.size()), changed);
  }
  int64_t steps() override { return static_cast<int64_t>(bits_.size()); }
  absl::StatusOr<double> Step(int64_t step, bool* changed) override {
    last_ = static_cast<size_t>(step);
    bits_[last_] = !bits_[last_];
    *changed = true;
    return cost();
  }
  void Undo() override { bits_[last_] = !bits_[last_]; }
  double cost() const override {
    double cost = 1000;
    for (size_t i = 0; i < bits_.size(); ++i) cost -= bits_[i] ? 1e-3 * static_cast<double>(i + 1) : 0;
    return cost;
  }
  std::string Snapshot() const override { return std::to_string(cost()); }

 private:
  std::vector<bool> bits_;
  size_t last_ = 0;
};

TEST(Annealing, LeavesLocalMinima) {
  Puzzle puzzle(20);
  auto result = Anneal(puzzle, {.moves = 20000, .seed = 3});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->best.front().snapshot, std::string(20, '1'));
  EXPECT_NEAR(result->best.front().cost, 0.8, 1e-9);
}

TEST(Annealing, LeavesLocalMinimaWhateverTheRestCosts) {
  for (const double rest : {0.5, 100.0, 100000.0}) {
    Puzzle puzzle(20, rest);
    auto result = Anneal(puzzle, {.moves = 20000, .seed = 3});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->best.front().snapshot, std::string(20, '1')) << rest;
  }
}

TEST(Annealing, DescendsThroughAllStepsAndNoFurther) {
  constexpr int64_t kBits = 300;
  Switches switches(kBits);
  // Each step is tried, made, and tried once more in vain.
  auto result = Anneal(switches, {.moves = 3 * kBits, .seed = 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->moves, 3 * kBits);
  EXPECT_NEAR(result->best.front().cost, 1000 - 1e-3 * kBits * (kBits + 1) / 2, 1e-6);
}

TEST(Annealing, KeepsWhatADescentFoundWhenToldToStop) {
  Switches switches(300);
  auto result =
      Anneal(switches, {.moves = 100000, .seed = 1, .proceed = [](int64_t moves, double) { return moves < 200; }});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->stopped);
  EXPECT_LT(result->best.front().cost, 1000);
}

TEST(Annealing, CoolsByTheProgressItIsTold) {
  // At its beginning, where most changes for the worse are accepted, and at its end, where none is.
  double accepted[2];
  for (const int end : {0, 1}) {
    Puzzle puzzle(20);
    auto result = Anneal(puzzle, {.moves = 2000, .seed = 2, .progress = [&] { return static_cast<double>(end); }});
    ASSERT_TRUE(result.ok());
    accepted[end] = static_cast<double>(result->accepted);
  }
  EXPECT_GT(accepted[0], 10 * accepted[1]);
}

TEST(Annealing, KeepsDistinctStatesBestFirst) {
  Puzzle puzzle(20);
  auto result = Anneal(puzzle, {.moves = 5000, .keep = 8, .seed = 4});
  ASSERT_TRUE(result.ok());
  std::set<std::string> distinct;
  for (size_t i = 0; i < result->best.size(); ++i) {
    distinct.insert(result->best[i].snapshot);
    if (i > 0) {
      EXPECT_LE(result->best[i - 1].cost, result->best[i].cost);
    }
  }
  EXPECT_EQ(distinct.size(), result->best.size());
}

TEST(Annealing, RepeatsUnderTheSameSeed) {
  Puzzle a(20), b(20);
  auto first = Anneal(a, {.moves = 3000, .seed = 7});
  auto second = Anneal(b, {.moves = 3000, .seed = 7});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->accepted, second->accepted);
  EXPECT_EQ(first->best.front().snapshot, second->best.front().snapshot);
}

TEST(Annealing, EndsWithTheBestSoFarWhenToldToStop) {
  Puzzle puzzle(20);
  auto result =
      Anneal(puzzle, {.moves = 1000000, .seed = 5, .proceed = [](int64_t moves, double) { return moves < 1000; }});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->stopped);
  EXPECT_LT(result->moves, 2000);
  EXPECT_FALSE(result->best.empty());
}

}  // namespace
}  // namespace smelt::tuner

// Programs with a known best: the default search, in all its rounds, must find it whatever the program's size.
#include <vector>

#include "bench/default_search.h"
#include "bench/planted_program.h"
#include "gtest/gtest.h"
#include "hlo/passes/execution_counts.h"
#include "tuner/search/rounds.h"
#include "tuner/session.h"

namespace smelt::tuner {
namespace {

TEST(PlantedProgram, CostsWhatItSaysAtTheStartAndAtTheBest) {
  const auto planted = PlantedProgram::Make({.decisions = 240, .seed = 5});
  ASSERT_TRUE(planted.ok()) << planted.status();
  EXPECT_EQ(planted->space().size(), 240);
  const ComputationCounts counts = hlo::ExecutionCounts(planted->space().module());
  KernelCosts costs(planted->predictor());
  auto start = FusionState::Create(planted->space(), planted->start(), counts, costs);
  auto best = FusionState::Create(planted->space(), planted->best(), counts, costs);
  ASSERT_TRUE(start.ok() && best.ok());
  EXPECT_NEAR((*start)->cost(), planted->start_seconds(), 1e-12);
  EXPECT_NEAR(planted->Share((*best)->cost()), 1, 1e-9);
  EXPECT_GT(planted->potential(), 0.05);
}

TEST(DefaultSearch, FindsPlantedOptimaOfEverySize) {
  for (const int64_t decisions : {30, 240, 1200}) {
    const auto planted = PlantedProgram::Make({.decisions = decisions, .seed = 1});
    ASSERT_TRUE(planted.ok()) << planted.status();
    const auto found = SearchByDefault(planted->space(), planted->start(), planted->predictor(), {.seed = 1});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_GE(planted->Share(found->best), 0.95) << decisions << " decisions";
    EXPECT_LE(found->moves, MovesFor(planted->space()));
  }
}

TEST(DefaultSearch, FindsTheSameWhateverThePredictorRemembers) {
  const auto planted = PlantedProgram::Make({.decisions = 240, .seed = 2});
  ASSERT_TRUE(planted.ok()) << planted.status();
  const auto anew = SearchByDefault(planted->space(), planted->start(), planted->predictor(), {.seed = 3});
  const auto again = SearchByDefault(planted->space(), planted->start(), planted->predictor(), {.seed = 3});
  ASSERT_TRUE(anew.ok() && again.ok());
  EXPECT_EQ(anew->best, again->best);
  EXPECT_EQ(anew->config, again->config);
}

TEST(FusionState, SumsInOneOrderWhateverIsKnown) {
  const auto planted = PlantedProgram::Make({.decisions = 240, .seed = 3});
  ASSERT_TRUE(planted.ok()) << planted.status();
  const ComputationCounts counts = hlo::ExecutionCounts(planted->space().module());
  const auto cost_of = [&](const fusion::Config& config, KernelCosts& costs) {
    return (*FusionState::Create(planted->space(), config, counts, costs))->cost();
  };
  KernelCosts costs(planted->predictor());
  cost_of(planted->best(), costs);  // nine tenths of the start's decisions
  const double some_known = cost_of(planted->start(), costs);
  EXPECT_EQ(some_known, cost_of(planted->start(), costs));
}

}  // namespace
}  // namespace smelt::tuner

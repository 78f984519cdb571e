#include "tuner/schedule/strategies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace smelt::tuner {
namespace {

enum class Way : uint8_t { kTrees, kTreeGru, kRandom, kGenetic, kGrid };

struct Strategy {
  const char* name;
  Way way;
  Objective objective = Objective::kRank;
};

constexpr Strategy kStrategies[] = {
    {"gbt-rank", Way::kTrees, Objective::kRank},
    {"gbt-regression", Way::kTrees, Objective::kRegression},
    {"treegru-rank", Way::kTreeGru, Objective::kRank},
    {"treegru-regression", Way::kTreeGru, Objective::kRegression},
    {"random", Way::kRandom},
    {"genetic", Way::kGenetic},
    {"grid", Way::kGrid},
};

std::unique_ptr<Proposer> PlainProposer(Way way, const ScheduleTask& task, const SearchOptions& options) {
  switch (way) {
    case Way::kGenetic:
      return GeneticProposer(task, {.seed = options.seed});
    case Way::kGrid:
      return GridProposer(task, options.trials);
    default:
      return RandomProposer(task, options.seed);
  }
}

}  // namespace

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const Strategy& strategy : kStrategies) names.emplace_back(strategy.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Search>> MakeSearch(const ScheduleTask& task, const SearchOptions& options) {
  const Strategy* found = nullptr;
  for (const Strategy& strategy : kStrategies) {
    if (options.strategy == strategy.name) found = &strategy;
  }
  if (found == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no schedule search `", options.strategy, "`; there are ",
                                                   absl::StrJoin(StrategyNames(), ", ")));
  }
  auto search = std::make_unique<Search>();
  search->features = std::make_unique<CandidateFeatures>(task, options.threads);
  if (found->way == Way::kTrees) {
    search->model = BoostedCostModel(*search->features, {.representation = options.representation,
                                                         .objective = found->objective,
                                                         .members = options.members,
                                                         .threads = options.threads,
                                                         .prior = options.prior,
                                                         .seed = options.seed});
  } else if (found->way == Way::kTreeGru) {
    if (!options.tree_gru) {
      return absl::FailedPreconditionError(
          absl::StrCat("`", options.strategy, "` needs LibTorch, which this program is not linked with"));
    }
    search->model = options.tree_gru(task, found->objective, options.seed);
  } else {
    search->proposer = PlainProposer(found->way, task, options);
    return search;
  }
  search->proposer = ModelProposer(task, *search->features, *search->model,
                                   {.selection = options.selection,
                                    .epsilon = options.epsilon,
                                    .acquisition = options.acquisition,
                                    .threads = options.threads,
                                    .seed = options.seed});
  return search;
}

}  // namespace smelt::tuner

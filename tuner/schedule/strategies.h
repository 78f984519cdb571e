// The searches of a kernel's schedule by name.
//
//   std::unique_ptr<Search> search = MakeSearch(task, {.strategy = "gbt-rank"}).value();
//   std::vector<Config> next = search->proposer->Next(32, {}).value();
//
// One row of a table for each: what proposes, and what model it goes by.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/schedule/candidate_features.h"
#include "tuner/schedule/cost_model.h"
#include "tuner/schedule/proposer.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

// Makes a TreeGRU model (gnn/torch/tree_gru.h), where the program has LibTorch.
using TreeGruMaker =
    std::function<std::unique_ptr<CostModel>(const ScheduleTask& task, Objective objective, uint64_t seed)>;

struct SearchOptions {
  std::string strategy = "gbt-rank";                                 // one of StrategyNames
  Representation representation = Representation::kContextRelation;  // of boosted trees
  int members = 1;                                                   // of an ensemble of them
  Acquisition acquisition = Acquisition::kMean;
  SelectionOptions selection;
  double epsilon = 0.05;
  int64_t trials = 256;  // that are planned: the distances of a grid follow from it
  int threads = 1;
  uint64_t seed = 1;
  Prior prior = nullptr;            // of boosted trees
  TreeGruMaker tree_gru = nullptr;  // absent: this program has no LibTorch
};

struct Search {
  std::unique_ptr<CandidateFeatures> features;
  std::unique_ptr<CostModel> model;  // null: the strategy goes by none
  std::unique_ptr<Proposer> proposer;
};

std::vector<std::string> StrategyNames();

// `task` must outlive it. InvalidArgument: an unknown name. FailedPrecondition: it needs LibTorch.
absl::StatusOr<std::unique_ptr<Search>> MakeSearch(const ScheduleTask& task, const SearchOptions& options);

}  // namespace smelt::tuner

// The TreeGRU network as a cost model of schedules: compiled into what is linked with LibTorch alone.
//
//   std::unique_ptr<CostModel> model = TreeGruCostModel(task, {.objective = Objective::kRank});
#pragma once

#include <cstdint>
#include <memory>

#include "tuner/schedule/cost_model.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

struct TreeGruModelOptions {
  Objective objective = Objective::kRank;
  int threads = 0;  // of LibTorch; 0: its choice
  uint64_t seed = 1;
};

// `task` must outlive it.
std::unique_ptr<CostModel> TreeGruCostModel(const ScheduleTask& task, const TreeGruModelOptions& options);

}  // namespace smelt::tuner

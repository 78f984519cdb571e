#include "tuner/schedule/tree_gru_model.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "gnn/torch/tree_gru.h"
#include "kernels/loop_features/features.h"

namespace smelt::tuner {
namespace {

class TreeGruModel : public CostModel {
 public:
  TreeGruModel(const ScheduleTask& task, const TreeGruModelOptions& options)
      : task_(task),
        options_(options),
        network_({.rank = options.objective == Objective::kRank, .threads = options.threads, .seed = options.seed}) {}

  absl::Status Fit(absl::Span<const Measured> measured) override {
    std::vector<gnn::LoopTreeRow> rows;
    std::vector<double> scores;
    for (const Measured& one : measured) {
      if (const gnn::LoopTreeRow* row = RowOf(one.config)) {
        rows.push_back(*row);
        scores.push_back(one.score);
      }
    }
    if (rows.empty()) return absl::OkStatus();
    SMELT_RETURN_IF_ERROR(network_.Fit(rows, scores));
    fitted_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Scored>> Score(absl::Span<const Config> candidates) override {
    if (!fitted_) return absl::FailedPreconditionError("the TreeGRU has learned nothing yet");
    std::vector<Scored> scored(candidates.size(), Scored{-std::numeric_limits<double>::infinity(), 0});
    std::vector<gnn::LoopTreeRow> rows;
    std::vector<size_t> of;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (const gnn::LoopTreeRow* row = RowOf(candidates[i])) {
        rows.push_back(*row);
        of.push_back(i);
      }
    }
    const std::vector<double> scores = network_.Predict(rows);
    for (size_t i = 0; i < of.size(); ++i) scored[of[i]].score = scores[i];
    return scored;
  }

  bool CanScore() const override { return fitted_; }
  std::string Describe() const override {
    return options_.objective == Objective::kRank ? "TreeGRU, rank" : "TreeGRU, regression";
  }

 private:
  // Null: there is no schedule. Valid until the next call.
  const gnn::LoopTreeRow* RowOf(const Config& config) {
    constexpr size_t kMostRemembered = 20000;
    if (rows_.size() > kMostRemembered) rows_.clear();
    const auto [entry, is_new] = rows_.try_emplace(config.Hash());
    if (is_new) entry->second = MakeRow(config);
    return entry->second ? &*entry->second : nullptr;
  }

  std::optional<gnn::LoopTreeRow> MakeRow(const Config& config) const {
    const absl::StatusOr<kernels::schedule::Schedule> schedule = task_.space.ScheduleFor(config);
    if (!schedule.ok()) return std::nullopt;
    absl::StatusOr<kernels::loop_features::LoopSequence> loops =
        kernels::loop_features::ContextSequence(*schedule, task_.machine);
    if (!loops.ok() || loops->size() == 0) return std::nullopt;
    return gnn::LoopTreeRow{std::move(loops->contexts), std::move(loops->parents), std::move(loops->machine)};
  }

  const ScheduleTask& task_;
  const TreeGruModelOptions options_;
  gnn::TreeGru network_;
  bool fitted_ = false;
  absl::flat_hash_map<Hash128, std::optional<gnn::LoopTreeRow>> rows_;
};

}  // namespace

std::unique_ptr<CostModel> TreeGruCostModel(const ScheduleTask& task, const TreeGruModelOptions& options) {
  return std::make_unique<TreeGruModel>(task, options);
}

}  // namespace smelt::tuner

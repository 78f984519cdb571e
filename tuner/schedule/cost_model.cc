#include "tuner/schedule/cost_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/schedule/side_by_side.h"

namespace smelt::tuner {
namespace {

class BoostedModel : public CostModel {
 public:
  BoostedModel(CandidateFeatures& features, BoostedModelOptions options)
      : features_(features), options_(std::move(options)) {
    options_.trees.objective =
        options_.objective == Objective::kRank ? gnn::BoostObjective::kRank : gnn::BoostObjective::kSquared;
  }

  absl::Status Fit(absl::Span<const Measured> measured) override {
    std::vector<Config> configs;
    for (const Measured& one : measured) configs.push_back(one.config);
    const FeatureTable table = features_.Of(configs, options_.representation);
    gnn::BoostData data;
    data.rows.columns = table.rows.columns;
    std::vector<Config> with_rows;
    for (size_t i = 0; i < measured.size(); ++i) {
      if (!table.known[i]) continue;
      data.rows.Add(table.rows[static_cast<int64_t>(i)]);
      data.labels.push_back(static_cast<float>(measured[i].score));
      with_rows.push_back(configs[i]);
    }
    if (with_rows.empty()) return absl::OkStatus();
    if (options_.prior) {
      SMELT_ASSIGN_OR_RETURN(data.base, options_.prior(with_rows));
    }
    // Rows that are drawn twice would be learned and held out at once, so one training on all finds how many trees
    // serve.
    gnn::BoostOptions trees = options_.trees;
    trees.seed = options_.seed;
    if (options_.members > 1) {
      SMELT_ASSIGN_OR_RETURN(const gnn::BoostedTrees first, gnn::BoostedTrees::Train(data, trees));
      trees.rounds = std::max(1, first.trees());
      trees.held_out = 0;
    }
    std::vector<absl::StatusOr<gnn::BoostedTrees>> made;
    for (int i = 0; i < options_.members; ++i) made.emplace_back(absl::UnknownError("not trained"));
    SideBySide(options_.members, options_.threads, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) made[static_cast<size_t>(i)] = Member(data, trees, i);
    });
    members_.clear();
    for (absl::StatusOr<gnn::BoostedTrees>& member : made) {
      if (!member.ok()) return member.status();
      members_.push_back(*std::move(member));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Scored>> Score(absl::Span<const Config> candidates) override {
    if (!CanScore()) return absl::FailedPreconditionError("the cost model has learned nothing yet");
    const FeatureTable table = features_.Of(candidates, options_.representation);
    std::vector<float> prior(candidates.size(), 0);
    if (options_.prior) {
      SMELT_ASSIGN_OR_RETURN(prior, options_.prior(candidates));
    }
    std::vector<double> sum(candidates.size(), 0), squares(candidates.size(), 0);
    for (const gnn::BoostedTrees& member : members_) {
      SMELT_ASSIGN_OR_RETURN(const std::vector<float> scores, member.Predict(table.rows));
      for (size_t i = 0; i < scores.size(); ++i) {
        sum[i] += scores[i];
        squares[i] += static_cast<double>(scores[i]) * scores[i];
      }
    }
    const double count = std::max<double>(1, static_cast<double>(members_.size()));
    std::vector<Scored> result(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double mean = sum[i] / count;
      result[i].score = table.known[i] ? mean + prior[i] : -std::numeric_limits<double>::infinity();
      result[i].deviation = std::sqrt(std::max(0.0, squares[i] / count - mean * mean));
    }
    return result;
  }

  bool CanScore() const override { return !members_.empty() || options_.prior != nullptr; }
  bool IsCheap() const override { return options_.representation == Representation::kKnobs && !options_.prior; }
  std::string Describe() const override {
    return absl::StrCat("boosted trees, ", options_.objective == Objective::kRank ? "rank" : "regression", ", ",
                        std::string(RepresentationName(options_.representation)),
                        options_.members > 1 ? absl::StrCat(", ", options_.members, " members") : "",
                        options_.prior ? ", from other kernels" : "");
  }

 private:
  absl::StatusOr<gnn::BoostedTrees> Member(const gnn::BoostData& data, gnn::BoostOptions trees, int64_t number) const {
    trees.seed = options_.seed * 1000003 + static_cast<uint64_t>(number);
    if (options_.members == 1) return gnn::BoostedTrees::Train(data, trees);
    std::mt19937_64 random(trees.seed);
    gnn::BoostData drawn;
    drawn.rows.columns = data.rows.columns;
    for (int64_t i = 0; i < data.rows.size(); ++i) {
      const uint64_t row = random() % static_cast<uint64_t>(data.rows.size());
      drawn.rows.Add(data.rows[static_cast<int64_t>(row)]);
      drawn.labels.push_back(data.labels[row]);
      if (!data.base.empty()) drawn.base.push_back(data.base[row]);
    }
    return gnn::BoostedTrees::Train(drawn, trees);
  }

  CandidateFeatures& features_;
  BoostedModelOptions options_;
  std::vector<gnn::BoostedTrees> members_;
};

}  // namespace

std::unique_ptr<CostModel> BoostedCostModel(CandidateFeatures& features, BoostedModelOptions options) {
  return std::make_unique<BoostedModel>(features, std::move(options));
}

double Acquire(const Scored& scored, Acquisition acquisition, double best) {
  if (acquisition == Acquisition::kMean || !(scored.deviation > 0)) return scored.score;
  if (acquisition == Acquisition::kUpperBound) return scored.score + scored.deviation;
  const double z = (scored.score - best) / scored.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  return scored.deviation * (z * below + density);
}

}  // namespace smelt::tuner

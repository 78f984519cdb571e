#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "base/status_macros.h"
#include "tuner/schedule/proposer.h"

namespace smelt::tuner {
namespace {

// Trials that the model learns from, the best and the latest, half of each: what it takes to learn grows with them, and
// a trial must not.
constexpr size_t kMostLessons = 800;

// Imitated candidates that are drawn anew, so that the imitation knows more than what is good.
constexpr size_t kFreshImitated = 128;

class ByModel : public Proposer {
 public:
  ByModel(const ScheduleTask& task, CandidateFeatures& features, CostModel& model, const ModelProposerOptions& options)
      : Proposer(task),
        features_(features),
        model_(model),
        options_(options),
        random_(options.seed),
        annealing_(task.space, WithSeed(options)) {}

  absl::Status Learn(absl::Span<const Measured> measured) override {
    known_ = Lessons(measured);
    if (known_.empty()) return absl::OkStatus();
    RestartChains();
    return model_.Fit(known_);
  }

  absl::StatusOr<std::vector<Config>> Propose(size_t count, const ConfigSet& measured, const Accept& accept) override {
    ConfigSet taken = measured;
    std::vector<Config> batch;
    const auto share = [&](double of) { return static_cast<size_t>(of * static_cast<double>(count)); };
    if (known_.empty()) AddChanges(task_, task_.space.Default(), share(options_.start_near), accept, taken, batch);
    if (!model_.CanScore()) {
      const size_t near = share(options_.start_near);
      AddNeighbours(task_, task_.space.Default(), near - std::min(near, batch.size()), random_, accept, taken, batch);
      AddRandom(task_, count - batch.size(), random_, accept, taken, batch);
      return batch;
    }
    SMELT_RETURN_IF_ERROR(FindBest());
    SMELT_ASSIGN_OR_RETURN(std::vector<RankedConfig> ranked, Anneal(measured));
    if (!known_.empty()) AddChanges(task_, BestKnown(), share(options_.changed), accept, taken, batch);
    const size_t by_model = count - share(options_.epsilon);
    while (batch.size() < by_model && !ranked.empty()) {
      std::vector<size_t> chosen = SelectDiverse(ranked, by_model - batch.size(), options_.selection);
      for (const size_t i : chosen) {
        if (taken.insert(ranked[i].config.values()).second && accept(ranked[i].config))
          batch.push_back(ranked[i].config);
      }
      std::sort(chosen.rbegin(), chosen.rend());
      for (const size_t i : chosen) ranked.erase(ranked.begin() + static_cast<std::ptrdiff_t>(i));
    }
    AddRandom(task_, count - batch.size(), random_, accept, taken, batch);
    return batch;
  }

  std::string Describe() const override { return model_.Describe(); }

 private:
  static ParallelAnnealingOptions WithSeed(const ModelProposerOptions& options) {
    ParallelAnnealingOptions annealing = options.annealing;
    annealing.seed = options.seed;
    annealing.threads = options.threads;
    annealing.keep = options.rescored;
    return annealing;
  }

  static std::vector<Measured> Lessons(absl::Span<const Measured> measured) {
    if (measured.size() <= kMostLessons) return {measured.begin(), measured.end()};
    const absl::Span<const Measured> latest = measured.subspan(measured.size() - kMostLessons / 2);
    std::vector<Measured> lessons(measured.begin(), measured.end() - kMostLessons / 2);
    std::stable_sort(lessons.begin(), lessons.end(),
                     [](const Measured& a, const Measured& b) { return a.score > b.score; });
    lessons.resize(kMostLessons - latest.size());
    lessons.insert(lessons.end(), latest.begin(), latest.end());
    return lessons;
  }

  const Config& BestKnown() const {
    return std::max_element(known_.begin(), known_.end(),
                            [](const Measured& a, const Measured& b) { return a.score < b.score; })
        ->config;
  }

  // What is near the best is looked at in every round, wherever the chains have wandered.
  void RestartChains() {
    std::vector<const Measured*> best;
    for (const Measured& one : known_) best.push_back(&one);
    std::stable_sort(best.begin(), best.end(),
                     [](const Measured* a, const Measured* b) { return a->score > b->score; });
    const double most = options_.restarted * static_cast<double>(options_.annealing.chains);
    std::vector<Config> points;
    for (const Measured* one : best) {
      if (static_cast<double>(points.size()) >= most || one->score <= 0) break;
      points.push_back(one->config);
    }
    annealing_.Restart(points);
  }

  // What an improvement is over.
  absl::Status FindBest() {
    best_ = -std::numeric_limits<double>::infinity();
    if (known_.empty()) return absl::OkStatus();
    std::vector<Config> configs;
    for (const Measured& one : known_) configs.push_back(one.config);
    SMELT_ASSIGN_OR_RETURN(const std::vector<Scored> scores, model_.Score(configs));
    for (const Scored& scored : scores) best_ = std::max(best_, scored.score);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<double>> Worth(CostModel& model, absl::Span<const Config> configs) const {
    SMELT_ASSIGN_OR_RETURN(const std::vector<Scored> scores, model.Score(configs));
    std::vector<double> worth;
    for (const Scored& scored : scores) worth.push_back(Acquire(scored, options_.acquisition, best_));
    return worth;
  }

  // Best first, by the model itself.
  absl::StatusOr<std::vector<RankedConfig>> Anneal(const ConfigSet& measured) {
    const auto by_model = [&](absl::Span<const Config> configs) { return Worth(model_, configs); };
    if (model_.IsCheap()) return annealing_.Run(by_model, measured);
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<CostModel> imitation, Imitate());
    const auto by_imitation = [&](absl::Span<const Config> configs) -> absl::StatusOr<std::vector<double>> {
      SMELT_ASSIGN_OR_RETURN(const std::vector<Scored> scores, imitation->Score(configs));
      std::vector<double> worth;
      for (const Scored& scored : scores) worth.push_back(scored.score);
      return worth;
    };
    SMELT_ASSIGN_OR_RETURN(std::vector<RankedConfig> found, annealing_.Run(by_imitation, measured));
    std::vector<Config> configs;
    for (const RankedConfig& one : found) configs.push_back(one.config);
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> worth, Worth(model_, configs));
    looked_at_ = std::move(configs);
    std::vector<RankedConfig> ranked;
    for (size_t i = 0; i < found.size(); ++i) {
      if (std::isfinite(worth[i])) ranked.push_back({std::move(found[i].config), worth[i]});
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const RankedConfig& a, const RankedConfig& b) { return a.score > b.score; });
    return ranked;
  }

  // Trees on the knobs' values that learned what the model says.
  absl::StatusOr<std::unique_ptr<CostModel>> Imitate() {
    std::vector<Config> seen;
    for (const Measured& one : known_) seen.push_back(one.config);
    for (size_t i = 0; i < kFreshImitated; ++i) seen.push_back(task_.space.Random(random_));
    seen.insert(seen.end(), looked_at_.begin(), looked_at_.end());
    if (seen.size() > options_.imitated) seen.resize(options_.imitated);
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> worth, Worth(model_, seen));
    double lowest = 0;
    for (const double one : worth) lowest = std::isfinite(one) ? std::min(lowest, one) : lowest;
    std::vector<Measured> opinions;
    for (size_t i = 0; i < seen.size(); ++i)
      opinions.push_back({seen[i], std::isfinite(worth[i]) ? worth[i] : lowest - 1});
    std::unique_ptr<CostModel> imitation =
        BoostedCostModel(features_, {.representation = Representation::kKnobs,
                                     .objective = Objective::kRegression,
                                     .trees = {.depth = 6, .rounds = 100, .held_out = 0},
                                     .seed = options_.seed});
    SMELT_RETURN_IF_ERROR(imitation->Fit(opinions));
    return imitation;
  }

  CandidateFeatures& features_;
  CostModel& model_;
  const ModelProposerOptions options_;
  std::mt19937_64 random_;
  ParallelAnnealing annealing_;
  std::vector<Measured> known_;
  std::vector<Config> looked_at_;  // by the model, in the round before: the imitation of the next learns from them
  double best_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> ModelProposer(const ScheduleTask& task, CandidateFeatures& features, CostModel& model,
                                        const ModelProposerOptions& options) {
  return std::make_unique<ByModel>(task, features, model, options);
}

}  // namespace smelt::tuner

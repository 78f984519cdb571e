#include <algorithm>
#include <random>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/schedule/proposer.h"

namespace smelt::tuner {
namespace {

using kernels::config::Knob;

constexpr int kDrawsForEach = 100;  // a small space may have nothing new

// Whether two splits differ by what one of their loops has doubled and another one halved, about.
bool IsOneStep(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  int grown = 0, shrunk = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t more = std::max(from[i], to[i]), less = std::min(from[i], to[i]);
    if (more > 2 * less) return false;
    (to[i] > from[i] ? grown : shrunk) += more != less;
  }
  return grown <= 1 && shrunk <= 1;
}

class Drawn : public Proposer {
 public:
  Drawn(const ScheduleTask& task, uint64_t seed) : Proposer(task), random_(seed) {}

  absl::StatusOr<std::vector<Config>> Propose(size_t count, const ConfigSet& measured, const Accept& accept) override {
    ConfigSet taken = measured;
    std::vector<Config> batch;
    AddRandom(task_, count, random_, accept, taken, batch);
    return batch;
  }
  absl::Status Learn(absl::Span<const Measured>) override { return absl::OkStatus(); }
  std::string Describe() const override { return "random"; }

 private:
  std::mt19937_64 random_;
};

class Grid : public Proposer {
 public:
  Grid(const ScheduleTask& task, int64_t trials)
      : Proposer(task), stride_(task.space.size() / static_cast<absl::uint128>(std::max<int64_t>(trials, 1))) {
    if (stride_ == 0) stride_ = 1;
    next_ = stride_ / 2;
  }

  absl::StatusOr<std::vector<Config>> Propose(size_t count, const ConfigSet& measured, const Accept& accept) override {
    std::vector<Config> batch;
    // What lies between two points of the grid stands in for one that cannot be made.
    constexpr int kMostTries = 20000;
    for (int tries = 0; batch.size() < count && tries < kMostTries; ++tries) {
      if (next_ >= task_.space.size()) {
        if (stride_ <= 1) break;
        stride_ = stride_ / 3 + 1;
        next_ = stride_ / 2;
      }
      Config config = task_.space.At(next_);
      next_ += stride_;
      if (measured.contains(config.values()) || !task_.space.Check(config).ok()) continue;
      if (std::find(batch.begin(), batch.end(), config) != batch.end()) continue;
      if (accept(config)) batch.push_back(std::move(config));
    }
    return batch;
  }
  absl::Status Learn(absl::Span<const Measured>) override { return absl::OkStatus(); }
  std::string Describe() const override { return "grid"; }

 private:
  absl::uint128 stride_, next_;
};

class Genetic : public Proposer {
 public:
  Genetic(const ScheduleTask& task, const GeneticOptions& options)
      : Proposer(task), options_(options), random_(options.seed) {}

  absl::StatusOr<std::vector<Config>> Propose(size_t count, const ConfigSet& measured, const Accept& accept) override {
    ConfigSet taken = measured;
    std::vector<Config> batch;
    if (parents_.size() >= options_.population) {
      for (size_t tries = 0; batch.size() < count && tries < kDrawsForEach * count; ++tries) {
        SMELT_ASSIGN_OR_RETURN(Config child, Mix(Parent(), Parent()));
        if (static_cast<double>(random_() >> 11) * 0x1p-53 < options_.mutation)
          child = task_.space.Mutate(child, random_);
        if (taken.contains(child.values()) || !task_.space.Check(child).ok()) continue;
        if (!accept(child)) continue;
        taken.insert(child.values());
        batch.push_back(std::move(child));
      }
    }
    if (batch.size() < count) AddRandom(task_, count - batch.size(), random_, accept, taken, batch);
    return batch;
  }

  absl::Status Learn(absl::Span<const Measured> measured) override {
    std::vector<Measured> all(measured.begin(), measured.end());
    const size_t latest = std::min(all.size(), options_.population);
    parents_.assign(all.end() - static_cast<std::ptrdiff_t>(latest), all.end());
    std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) { return a.score > b.score; });
    all.resize(std::min(all.size(), options_.elites));
    parents_.insert(parents_.end(), all.begin(), all.end());
    total_ = 0;
    for (const Measured& parent : parents_) total_ += parent.score;
    return absl::OkStatus();
  }
  std::string Describe() const override { return "genetic"; }

 private:
  // Drawn with a chance that follows its score.
  const Config& Parent() {
    double at = static_cast<double>(random_() >> 11) * 0x1p-53 * total_;
    for (const Measured& parent : parents_) {
      at -= parent.score;
      if (at < 0) return parent.config;
    }
    return parents_.back().config;
  }

  // Up to one knob the values of one, from there on those of the other.
  absl::StatusOr<Config> Mix(const Config& one, const Config& other) {
    const std::vector<kernels::config::Knob>& knobs = task_.space.knobs();
    const size_t cut = random_() % (knobs.size() + 1);
    std::string text;
    for (size_t i = 0; i < knobs.size(); ++i) {
      const int value = (i < cut ? one : other).values()[i];
      absl::StrAppend(&text, i == 0 ? "" : " ", knobs[i].name, "=", knobs[i].options[static_cast<size_t>(value)]);
    }
    return task_.space.Parse(text);
  }

  const GeneticOptions options_;
  std::mt19937_64 random_;
  std::vector<Measured> parents_;
  double total_ = 0;
};

}  // namespace

void AddRandom(const ScheduleTask& task, size_t count, std::mt19937_64& random, const Accept& accept, ConfigSet& taken,
               std::vector<Config>& batch) {
  const size_t wanted = batch.size() + count;
  for (size_t draws = 0; batch.size() < wanted && draws < kDrawsForEach * count; ++draws) {
    Config config = task.space.Random(random);
    if (taken.contains(config.values()) || !accept(config)) continue;
    taken.insert(config.values());
    batch.push_back(std::move(config));
  }
}

void AddChanges(const ScheduleTask& task, const Config& of, size_t count, const Accept& accept, ConfigSet& taken,
                std::vector<Config>& batch) {
  const size_t wanted = batch.size() + count;
  const std::vector<Knob>& knobs = task.space.knobs();
  for (const Knob::Kind kind :
       {Knob::Kind::kChoice, Knob::Kind::kSplit, Knob::Kind::kAnnotation, Knob::Kind::kPermutation}) {
    for (size_t k = 0; k < knobs.size(); ++k) {
      const Knob& knob = knobs[k];
      if (knob.kind != kind) continue;
      for (int option = 0; option < static_cast<int>(knob.options.size()); ++option) {
        if (batch.size() >= wanted) return;
        if (option == of.values()[k]) continue;
        if (kind == Knob::Kind::kSplit && !IsOneStep(of.ValuesOf(k), knob.values[static_cast<size_t>(option)]))
          continue;
        Config config = task.space.With(of, k, option);
        if (taken.contains(config.values()) || !task.space.Check(config).ok() || !accept(config)) continue;
        taken.insert(config.values());
        batch.push_back(std::move(config));
      }
    }
  }
}

void AddNeighbours(const ScheduleTask& task, const Config& of, size_t count, std::mt19937_64& random,
                   const Accept& accept, ConfigSet& taken, std::vector<Config>& batch) {
  constexpr uint64_t kMostKnobs = 3;
  const size_t wanted = batch.size() + count;
  for (size_t draws = 0; batch.size() < wanted && draws < kDrawsForEach * count; ++draws) {
    Config config = of;
    for (uint64_t left = 1 + random() % kMostKnobs; left > 0; --left) config = task.space.Mutate(config, random);
    if (taken.contains(config.values()) || !accept(config)) continue;
    taken.insert(config.values());
    batch.push_back(std::move(config));
  }
}

std::unique_ptr<Proposer> RandomProposer(const ScheduleTask& task, uint64_t seed) {
  return std::make_unique<Drawn>(task, seed);
}

std::unique_ptr<Proposer> GridProposer(const ScheduleTask& task, int64_t trials) {
  return std::make_unique<Grid>(task, trials);
}

std::unique_ptr<Proposer> GeneticProposer(const ScheduleTask& task, const GeneticOptions& options) {
  return std::make_unique<Genetic>(task, options);
}

}  // namespace smelt::tuner

#include "tuner/search/annealing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/status_macros.h"

namespace smelt::tuner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kRounding = 1e-9;   // of costs, relative: a change that is smaller is none
constexpr size_t kBlock = 64;        // steps of a descent
constexpr int64_t kLastDescent = 8;  // the moves over those that are kept for the last descent, at most
constexpr size_t kEnoughChanges = 256;
constexpr int64_t kMovesBetweenLooks = 4;  // at the clock
constexpr std::chrono::milliseconds kLongestSilence{20};

// Keeps the best distinct states, lowest cost first.
class Shortlist {
 public:
  explicit Shortlist(int64_t limit) : limit_(std::max<int64_t>(limit, 1)) {}

  bool Wants(double cost) const { return static_cast<int64_t>(states_.size()) < limit_ || cost < states_.back().cost; }
  void Offer(std::string snapshot, double cost) {
    for (const ScoredState& state : states_) {
      if (state.snapshot == snapshot) return;
    }
    auto at = std::upper_bound(states_.begin(), states_.end(), cost,
                               [](double c, const ScoredState& s) { return c < s.cost; });
    states_.insert(at, {std::move(snapshot), cost});
    if (static_cast<int64_t>(states_.size()) > limit_) states_.pop_back();
  }
  std::vector<ScoredState> Take() { return std::move(states_); }
  double best() const { return states_.front().cost; }

 private:
  int64_t limit_;
  std::vector<ScoredState> states_;
};

// The median of the first changes for the worse, by the logarithm of their factor.
class ChangeSize {
 public:
  void Add(double change) {
    if (changes_.size() == kEnoughChanges || change < kRounding || !std::isfinite(change)) return;
    changes_.push_back(change);
    std::vector<double> sorted = changes_;
    const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    median_ = *middle;
  }
  double median() const { return median_; }

 private:
  std::vector<double> changes_;
  double median_ = 0;
};

class Chain {
 public:
  Chain(SearchState& state, const AnnealingOptions& options)
      : state_(state), options_(options), random_(options.seed), shortlist_(options.keep) {}

  absl::StatusOr<AnnealingResult> Run() {
    shortlist_.Offer(state_.Snapshot(), state_.cost());
    if (options_.descend_first) SMELT_RETURN_IF_ERROR(Descend());
    // One sweep of the last descent is kept for it, where that is not too much.
    SMELT_RETURN_IF_ERROR(Cool(options_.moves - std::min(state_.steps(), options_.moves / kLastDescent)));
    SMELT_RETURN_IF_ERROR(Descend());
    result_.best = shortlist_.Take();
    return std::move(result_);
  }

 private:
  // Whether another move may be made, of so many. Asked before each.
  bool Proceed(int64_t moves) {
    if (result_.stopped || result_.moves >= moves) return false;
    if (!options_.proceed || !IsTimeToReport()) return true;
    asked_ = Clock::now();
    result_.stopped = !options_.proceed(result_.moves, shortlist_.best());
    return !result_.stopped;
  }
  // A move whose kernels must all be predicted can take a hundred thousand times as long as one whose are known. The
  // clock is not read for every move, which would take a part of the quick ones' time.
  bool IsTimeToReport() const {
    return result_.moves % options_.moves_between_reports == 0 ||
           (result_.moves % kMovesBetweenLooks == 0 && Clock::now() - asked_ > kLongestSilence);
  }

  // Snapshots cost as much as the program is long, so only states that improve on the list are written down.
  void Accept(double before, double after) {
    ++result_.accepted;
    if (after < before && shortlist_.Wants(after)) shortlist_.Offer(state_.Snapshot(), after);
  }

  // The change of a step, made where it helps by more than rounding and `keep` is set, else taken back.
  absl::StatusOr<double> Try(int64_t step, bool keep) {
    ++result_.moves;
    const double before = state_.cost();
    bool changed = false;
    SMELT_ASSIGN_OR_RETURN(const double after, state_.Step(step, &changed));
    if (!changed) return 0;
    const bool helps = after < before * (1 - kRounding);
    if (helps && keep) {
      Accept(before, after);
    } else {
      state_.Undo();
    }
    return helps ? after - before : 0;
  }

  // All steps in an order that the seed decides, again until none helps. Each block of them is tried first and then
  // made in the order of what they gain, because one can spoil another; with the whole neighbourhood as one block,
  // nothing would have been made yet when time is over.
  absl::Status Descend() {
    std::vector<int64_t> order(static_cast<size_t>(state_.steps()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    size_t idle = 0;  // steps in a row that did not help
    for (size_t next = 0; idle < order.size();) {
      const size_t end = std::min(next + kBlock, order.size());
      idle += end - next;
      std::vector<std::pair<double, int64_t>> helpful;
      for (; next < end; ++next) {
        if (!Proceed(options_.moves)) return absl::OkStatus();
        SMELT_ASSIGN_OR_RETURN(const double change, Try(order[next], /*keep=*/false));
        if (change < 0) helpful.push_back({change, order[next]});
      }
      std::sort(helpful.begin(), helpful.end());
      for (const auto& [unused, step] : helpful) {
        if (!Proceed(options_.moves)) return absl::OkStatus();
        SMELT_ASSIGN_OR_RETURN(const double change, Try(step, /*keep=*/true));
        if (change < 0) idle = 0;
      }
      if (next == order.size()) next = 0;
    }
    return absl::OkStatus();
  }

  // Anneals until so many moves of the chain are over.
  absl::Status Cool(int64_t moves) {
    std::uniform_real_distribution<double> uniform(0, 1);
    ChangeSize size;
    const int64_t begin = result_.moves;
    const double ratio = options_.last_temperature / options_.first_temperature;
    while (Proceed(moves)) {
      const double progress = options_.progress
                                  ? std::clamp(options_.progress(), 0.0, 1.0)
                                  : static_cast<double>(result_.moves - begin) / static_cast<double>(moves - begin);
      ++result_.moves;
      const double before = state_.cost();
      bool changed = false;
      SMELT_ASSIGN_OR_RETURN(const double after, state_.Mutate(random_, &changed));
      if (!changed) continue;
      if (after > before) {
        const double change = std::log(after / before);
        size.Add(change);
        const double temperature = options_.first_temperature * std::pow(ratio, progress) * size.median();
        if (!(uniform(random_) < std::exp(-change / temperature))) {
          state_.Undo();
          continue;
        }
      }
      Accept(before, after);
    }
    return absl::OkStatus();
  }

  SearchState& state_;
  const AnnealingOptions& options_;
  Random random_;
  Shortlist shortlist_;
  AnnealingResult result_;
  Clock::time_point asked_;
};

}  // namespace

absl::StatusOr<AnnealingResult> Anneal(SearchState& state, const AnnealingOptions& options) {
  return Chain(state, options).Run();
}

}  // namespace smelt::tuner

#include "vdla/lower/token_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::kUnits;
using isa::TokenQueue;
using isa::Unit;

// A place in the sequential program: 2 * i + 1 is step i, 2 * i the no-op in front of it, if it has one.
using Place = int64_t;
constexpr Place kNowhere = -1;
using Clock = std::array<Place, kUnits>;  // by unit: everything up to this place is done

constexpr int kLoad = static_cast<int>(Unit::kLoad), kCompute = static_cast<int>(Unit::kCompute);
constexpr int kStore = static_cast<int>(Unit::kStore);

struct Pair {
  Place push, pop;
};

TokenQueue QueueBetween(int from, int to) {
  if (from == kLoad) return TokenQueue::kLoadToCompute;
  if (from == kStore) return TokenQueue::kStoreToCompute;
  return to == kLoad ? TokenQueue::kComputeToLoad : TokenQueue::kComputeToStore;
}

class Planner {
 public:
  Planner(absl::Span<const Unit> units, absl::Span<const Needs> needs, int64_t depth)
      : units_(units), needs_(needs), depth_(depth), done_(2 * units.size()) {}

  TokenPlan Plan() {
    // Waiting for a newer push teaches an instruction more, which can make other pairs needless, so each round plans
    // anew. A round raises what at least one pop waits for, never beyond the pop itself: the rounds end.
    do {
      PlanOnce();
    } while (ShortenQueues());
    return Result();
  }

 private:
  void PlanOnce() {
    knows_.fill({kNowhere, kNowhere, kNowhere});
    for (auto& places : places_) places.clear();
    for (auto& pairs : pairs_) pairs.clear();
    has_no_op_.assign(units_.size(), false);
    for (size_t i = 0; i < units_.size(); ++i) {
      const int unit = static_cast<int>(units_[i]);
      const Place place = static_cast<Place>(2 * i + 1);
      Clock needs;
      for (int from = 0; from < kUnits; ++from) needs[from] = needs_[i][from] < 0 ? kNowhere : 2 * needs_[i][from] + 1;
      if (unit != kCompute) RouteThroughCompute(unit, place, needs);
      PlanStep(unit, place, needs);
    }
  }

  // Makes a need of the far unit into one of compute, which every unit has a queue with.
  void RouteThroughCompute(int unit, Place place, Clock& needs) {
    const int far = unit == kLoad ? kStore : kLoad;
    const Place needed = std::exchange(needs[far], kNowhere);
    if (needed <= knows_[unit][far]) return;
    // The first computation that the unit has to wait for anyway or that comes later, and that knows it.
    const Place least = std::max(needs[kCompute], knows_[unit][kCompute] + 1);
    const std::vector<Place>& places = places_[kCompute];
    const auto carrier = std::partition_point(places.begin(), places.end(), [&](Place candidate) {
      return candidate < least || done_[candidate][far] < needed;
    });
    if (carrier != places.end()) {
      needs[kCompute] = *carrier;
      return;
    }
    const Place no_op = place - 1;
    Clock of_no_op = {kNowhere, kNowhere, kNowhere};
    of_no_op[far] = needed;
    PlanStep(kCompute, no_op, of_no_op);
    has_no_op_[no_op / 2] = true;
    needs[kCompute] = no_op;
  }

  void PlanStep(int unit, Place place, const Clock& needs) {
    Clock pushes = {kNowhere, kNowhere, kNowhere};
    for (int from = 0; from < kUnits; ++from) {
      if (from != unit && needs[from] > knows_[unit][from]) pushes[from] = PushFor(from, unit, place, needs[from]);
    }
    // One of two neighbours may know what the other one is needed for.
    if (pushes[kLoad] != kNowhere && pushes[kStore] != kNowhere) {
      if (done_[pushes[kStore]][kLoad] >= needs[kLoad]) {
        pushes[kLoad] = kNowhere;
      } else if (done_[pushes[kLoad]][kStore] >= needs[kStore]) {
        pushes[kStore] = kNowhere;
      }
    }
    for (int from = 0; from < kUnits; ++from) {
      if (pushes[from] == kNowhere) continue;
      pairs_[static_cast<int>(QueueBetween(from, unit))].push_back({pushes[from], place});
      for (int other = 0; other < kUnits; ++other)
        knows_[unit][other] = std::max(knows_[unit][other], done_[pushes[from]][other]);
    }
    knows_[unit][unit] = place;
    done_[place] = knows_[unit];
    places_[unit].push_back(place);
  }

  // The place that pushes: the needed one, or a later one where the queue would be too short.
  Place PushFor(int from, int unit, Place pop, Place needed) const {
    const auto later = later_.find({static_cast<int>(QueueBetween(from, unit)), pop});
    if (later == later_.end() || later->second <= needed) return needed;
    // It was planned when there may have been other no-ops: the last place that is there now.
    const std::vector<Place>& places = places_[from];
    return *std::prev(std::upper_bound(places.begin(), places.end(), later->second));
  }

  // Whether a queue would hold more than its depth in sequential order; then the next round plans fewer tokens.
  bool ShortenQueues() {
    bool changed = false;
    for (int queue = 0; queue < isa::kTokenQueues; ++queue) {
      std::deque<Pair> waiting;
      for (const Pair& pair : pairs_[queue]) {
        while (!waiting.empty() && waiting.front().pop < pair.push) waiting.pop_front();
        if (static_cast<int64_t>(waiting.size()) < depth_) {
          waiting.push_back(pair);
          continue;
        }
        later_[{queue, waiting.back().pop}] = pair.push;
        changed = true;
        ++merged_;
      }
    }
    return changed;
  }

  TokenPlan Result() const {
    TokenPlan plan;
    plan.merged = merged_;
    std::vector<size_t> index_of(2 * units_.size());
    for (size_t i = 0; i < units_.size(); ++i) {
      if (has_no_op_[i]) {
        index_of[2 * i] = plan.steps.size();
        plan.steps.push_back({.step = -1});
        ++plan.no_ops;
      }
      index_of[2 * i + 1] = plan.steps.size();
      plan.steps.push_back({.step = static_cast<int64_t>(i)});
    }
    for (int queue = 0; queue < isa::kTokenQueues; ++queue) {
      plan.tokens[queue] = static_cast<int64_t>(pairs_[queue].size());
      const bool forward = queue == static_cast<int>(TokenQueue::kLoadToCompute) ||
                           queue == static_cast<int>(TokenQueue::kComputeToStore);
      for (const Pair& pair : pairs_[queue]) {
        PlannedStep &push = plan.steps[index_of[pair.push]], &pop = plan.steps[index_of[pair.pop]];
        (forward ? push.push_next : push.push_prev) = true;
        (forward ? pop.pop_prev : pop.pop_next) = true;
      }
    }
    return plan;
  }

  const absl::Span<const Unit> units_;
  const absl::Span<const Needs> needs_;
  const int64_t depth_;
  std::map<std::pair<int, Place>, Place> later_;  // queue, pop: the least place of its push
  int64_t merged_ = 0;
  // What follows is of one round.
  std::vector<Clock> done_;                                 // by place: what is done when it is
  std::array<Clock, kUnits> knows_;                         // by unit, after its last planned place
  std::array<std::vector<Place>, kUnits> places_;           // by unit
  std::array<std::vector<Pair>, isa::kTokenQueues> pairs_;  // in order, of both ends
  std::vector<bool> has_no_op_;                             // by step
};

}  // namespace

absl::StatusOr<TokenPlan> PlanTokens(absl::Span<const Unit> units, absl::Span<const Needs> needs, int64_t depth) {
  Check(units.size() == needs.size(), "needs for each step");
  if (depth < 1) {
    return absl::InvalidArgumentError(StrCat("the token queues are ", depth, " deep, and at least 1 is needed"));
  }
  return Planner(units, needs, depth).Plan();
}

}  // namespace smelt::vdla::lower

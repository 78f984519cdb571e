#include "tuner/hardware_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/incremental_fusion.h"
#include "kernels/tiles/tiles.h"
#include "tuner/search/annealing.h"
#include "tuner/tile_search.h"

namespace smelt::tuner {
namespace {

// A move that the rules undo, or that makes the program that was measured last, costs nothing; spaces where nothing
// else is left must end.
constexpr int64_t kMostMoves = 1000000;

// A program under annealing that costs what it was measured to take, beside the default.
class MeasuredState : public SearchState {
 public:
  MeasuredState(SessionState& state, const targets::Trial& start)
      : state_(state),
        evaluator_(state.space, start.config),
        knobs_(start.tiles),
        whole_program_(state.tunable.WholeProgram()),
        tiles_(state.options.tiles && state.tunable.target().HasTiles()) {}

  absl::StatusOr<double> Measure() {
    SMELT_ASSIGN_OR_RETURN(const TrialResult result, state_.Measure({evaluator_.config(), Present(), 0, ""}));
    // What fails is never accepted, unless nothing ran yet.
    cost_ = result.outcome.ok() ? result.outcome.relative() : std::numeric_limits<double>::infinity();
    return cost_;
  }

  // All that can be chosen is as likely: a decision of the space, a knob, a kernel's tile, a way of the whole program.
  absl::StatusOr<double> Mutate(Random& random, bool* changed) override {
    cost_before_ = cost_;
    knobs_before_ = knobs_;
    const std::vector<fusion::KernelRef> kernels = tiles_ ? evaluator_.Kernels() : std::vector<fusion::KernelRef>();
    const targets::KnobChoices& choices = state_.tunable.knobs();
    const size_t counts[] = {static_cast<size_t>(state_.space.size()), choices.size(), kernels.size(),
                             whole_program_.size()};
    size_t place = random() % (counts[0] + counts[1] + counts[2] + counts[3]);
    moved_ = place < counts[0];
    if (moved_) {
      evaluator_.Apply(ProposeMove(state_.space, random));
    } else if ((place -= counts[0]) < counts[1]) {
      const auto& [key, ways] = *std::next(choices.begin(), static_cast<int64_t>(place));
      Set(key, ways, random);
    } else if ((place -= counts[1]) < counts[2]) {
      const std::string key = kernels[place].hash.ToHex();
      tiled_.insert(key);
      Set(key, TilesOf(kernels[place]), random);
    } else {
      SetWholeProgram(whole_program_[place - counts[2]], random() % 2 == 0);
    }
    *changed = moved_ ? evaluator_.changed() : knobs_ != knobs_before_;
    if (!*changed) return cost_;
    return Measure();
  }
  void Undo() override {
    if (moved_) evaluator_.Undo();
    knobs_ = knobs_before_;
    cost_ = cost_before_;
  }
  double cost() const override { return cost_; }
  std::string Snapshot() const override {
    std::string text = ConfigText(evaluator_.config());
    for (const auto& [key, way] : knobs_) absl::StrAppend(&text, " ", key, "=", way);
    return text;
  }

 private:
  // One of the ways, or the ordinary one, which is no entry.
  void Set(const std::string& key, const std::vector<std::string>& ways, Random& random) {
    const size_t way = random() % (ways.size() + 1);
    knobs_.erase(key);
    if (way < ways.size()) knobs_[key] = ways[way];
  }
  void SetWholeProgram(const targets::Knobs& way, bool set) {
    for (const auto& [key, value] : way) {
      knobs_.erase(key);
      if (set) knobs_[key] = value;
    }
  }
  // All that is chosen, without tiles of kernels that this program does not have.
  targets::Knobs Present() const {
    targets::Knobs present = knobs_;
    if (tiled_.empty()) return present;
    std::set<std::string> kernels;
    for (const fusion::KernelRef& kernel : evaluator_.Kernels()) kernels.insert(kernel.hash.ToHex());
    std::erase_if(present,
                  [&](const auto& knob) { return tiled_.contains(knob.first) && !kernels.contains(knob.first); });
    return present;
  }
  // The tiles are those of tile_search.h. A kernel without a loop nest has none.
  const std::vector<std::string>& TilesOf(const fusion::KernelRef& kernel) {
    const auto [known, added] = tiles_of_.try_emplace(kernel.hash);
    if (!added) return known->second;
    const fusion::Kernel made = evaluator_.KernelFor(kernel);
    auto tiles = kernels::nests::EnumerateTiles(made.computation(), state_.tunable.target().machine(),
                                                TileSearchOptions().ranked_tiles);
    if (!tiles.ok()) return known->second;
    for (kernels::nests::Tile& other : kernels::nests::OtherAlgorithms(made.computation())) {
      tiles->push_back(std::move(other));
    }
    if (tiles->size() > 1) {
      for (const kernels::nests::Tile& tile : *tiles) known->second.push_back(tile.ToString());
    }
    return known->second;
  }

  SessionState& state_;
  fusion::IncrementalFusion evaluator_;
  targets::Knobs knobs_, knobs_before_;
  const std::vector<targets::Knobs> whole_program_;
  const bool tiles_;
  std::map<Hash128, std::vector<std::string>> tiles_of_;
  std::set<std::string> tiled_;  // keys of kernels that had their tile changed
  bool moved_ = false;           // the last change is the evaluator's
  double cost_ = 0, cost_before_ = 0;
};

}  // namespace

absl::Status SearchHardware(SessionState& state, const targets::Trial& start) {
  TuneReport& report = state.report;
  const auto begin = SessionClock::now();
  state.measured = nullptr;  // no costs are learned: nothing here asks for them
  MeasuredState measured(state, start);
  SMELT_RETURN_IF_ERROR(measured.Measure().status());
  AnnealingOptions annealing;
  annealing.moves = kMostMoves;
  annealing.keep = 1;
  annealing.seed = state.options.seed;
  annealing.moves_between_reports = 1;
  annealing.progress = [&] { return state.Progressed(); };
  annealing.proceed = [&](int64_t moves, double) {
    report.moves = moves;
    report.moves_per_second = static_cast<double>(moves) / std::max(Since(begin), 1e-9);
    state.Progress(absl::StrFormat("hardware search: %d moves, %d measured; %s", moves, state.trials.measured(),
                                   state.BestSoFar()));
    return state.BudgetLeft(1);
  };
  return Anneal(measured, annealing).status();
}

}  // namespace smelt::tuner

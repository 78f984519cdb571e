#include "kernels/config/master.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::config {
namespace {

// Rows of a register tile of a sum: more leave no register for a second vector.
constexpr int64_t kMostSumRows = 14;
// Rows of a tile whose reductions are computed together, and of elementwise work.
constexpr int64_t kMostRows = 8;
// Below this work a fork costs more than it saves.
constexpr double kWorthAFork = 64 * 1024;
// Random points tried for one that works, where the templates' choice does not.
constexpr int kStartTrials = 20000;

// Widths of a register tile along vectors, ascending: half a vector, then whole ones.
std::vector<int64_t> VectorWidths(int64_t lanes, bool sums) {
  std::vector<int64_t> widths;
  if (lanes >= 8) widths.push_back(lanes / 2);
  for (int64_t vectors : {1, 2, 3, 4, 6, 8}) {
    if (sums || vectors <= 4) widths.push_back(lanes * vectors);
  }
  return widths;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MasterTemplate>> MasterTemplate::Of(const hlo::Computation& kernel,
                                                                         const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(te::Graph graph, te::FromHlo(kernel));
  return Of(nests::AnalyseStructure(std::move(graph)), target);
}

absl::StatusOr<std::shared_ptr<const MasterTemplate>> MasterTemplate::Of(nests::Structure structure,
                                                                         const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<const MainNest> nest, AnalyseMainNest(std::move(structure), target));
  std::shared_ptr<const MasterTemplate> master(new MasterTemplate(std::move(nest), target));
  return master;
}

MasterTemplate::MasterTemplate(std::unique_ptr<const MainNest> nest, const machine::Machine& target)
    : target_(target), nest_(std::move(nest)) {
  MakeKnobs();
  knobs_ = std::make_shared<const std::vector<Knob>>(std::move(made_));
  FindUsual();
}

void MasterTemplate::Add(Knob knob, Subject subject, int index) {
  made_.push_back(std::move(knob));
  about_.push_back({subject, index});
}

void MasterTemplate::MakeKnobs() {
  const MainNest& nest = *nest_;
  const bool rows_only = nest.row_depth > 0;
  std::vector<std::string> axis_names, sum_names;
  for (size_t a = 0; a < nest.axes.size(); ++a) {
    const NestAxis& axis = nest.axes[a];
    SplitLimits limits{.most_rows = nest.sums.empty() ? kMostRows : kMostSumRows};
    // A row's reductions stand outside of the axes within it.
    if (rows_only && axis.position() >= nest.row_depth) limits = {.most_rows = 1, .tiles = false};
    if (nest.vectors.size() == 1 && nest.vectors[0].axis == static_cast<int>(a)) limits.most_rows = 0;
    for (const VectorDirection& direction : nest.vectors) {
      if (direction.axis == static_cast<int>(a)) limits.vector_widths = VectorWidths(nest.lanes, !nest.sums.empty());
    }
    Add(SplitKnob(axis.name, axis.extent, limits), Subject::kAxis, static_cast<int>(a));
    axis_names.push_back(axis.name);
  }
  const bool has_identity = !nest.sums.empty() && !nest.sums[0]->bodies[0]->combiner->identity.empty();
  // Sums over vectors of themselves have their own way (nests::VectorizeReduction).
  const bool along_axes =
      nest.vectors.empty() || std::any_of(nest.vectors.begin(), nest.vectors.end(),
                                          [](const VectorDirection& direction) { return direction.axis >= 0; });
  for (size_t k = 0; along_axes && k < nest.reduces.size(); ++k) {
    const std::string name = nests::ReduceName(nest.reduces[k]);
    Add(SumKnob(name, nest.sums[0]->reduce_axes[nest.reduces[k]].extent, has_identity && !nest.axes.empty()),
        Subject::kReduce, static_cast<int>(k));
    sum_names.push_back(name);
  }
  if (!rows_only) {
    Add(OrderKnob("tile_order", axis_names), Subject::kTileOrder);
    Add(OrderKnob("pass_order", axis_names), Subject::kPassOrder);
  }
  if (!sum_names.empty()) Add(OrderKnob("sum_order", sum_names), Subject::kSumOrder);
  if (!nest.vectors.empty()) {
    std::vector<std::string> ways;
    for (const VectorDirection& direction : nest.vectors) ways.push_back(direction.name);
    Add(ChoiceKnob("vectors", std::move(ways)), Subject::kVectors);
  }
  if (nest.lanes >= 8) Add(AnnotationKnob("lanes_divisor", {1, 2}), Subject::kLanes);
  if (nest.nest().Work() >= kWorthAFork && !nest.axes.empty()) {
    std::vector<int64_t> counts;
    const size_t most = rows_only ? 1 : nest.axes.size();
    for (size_t count = 0; count <= most; ++count) counts.push_back(static_cast<int64_t>(count));
    Add(AnnotationKnob("parallel", std::move(counts)), Subject::kParallel);
  }
  if (!nest.sums.empty() && !nest.axes.empty() && along_axes)
    Add(ChoiceKnob("epilogue", {"register_tile", "tile"}), Subject::kEpilogue);
  absl::flat_hash_map<std::string, int> named;
  for (size_t o = 0; o < nest.operands.size(); ++o) {
    std::string name = absl::StrCat("pack.", nest.operands[o].access->tensor->name);
    if (const int again = ++named[name]; again > 1) absl::StrAppend(&name, ".", again);
    Add(ChoiceKnob(std::move(name), {"none", "tile", "root"}), Subject::kPacking, static_cast<int>(o));
  }
  if (!nest.operands.empty()) Add(AnnotationKnob("packed_run", {0, 64, 128, 256}), Subject::kPackedRun);
}

Decisions MasterTemplate::DecisionsOf(const std::vector<int>& options) const {
  Decisions decisions;
  decisions.axes.resize(nest_->axes.size());
  decisions.reduces.resize(nest_->reduces.size());
  decisions.packing.assign(nest_->operands.size(), Packing::kNone);
  for (size_t a = 0; a < nest_->axes.size(); ++a) {
    decisions.tile_order.push_back(static_cast<int64_t>(a));
    decisions.pass_order.push_back(static_cast<int64_t>(a));
  }
  for (size_t k = 0; k < options.size(); ++k) {
    const std::vector<int64_t>& values = (*knobs_)[k].values[options[k]];
    const size_t index = static_cast<size_t>(about_[k].index);
    switch (about_[k].subject) {
      case Subject::kAxis:
        decisions.axes[index] = {values[0], values[1], values[2]};
        break;
      case Subject::kReduce:
        decisions.reduces[index] = {values[0], values[1], values[2]};
        break;
      case Subject::kTileOrder:
        decisions.tile_order = values;
        break;
      case Subject::kPassOrder:
        decisions.pass_order = values;
        break;
      case Subject::kSumOrder:
        decisions.sum_order = values;
        break;
      case Subject::kVectors:
        decisions.vectors = static_cast<int>(values[0]);
        break;
      case Subject::kLanes:
        decisions.lanes_divisor = values[0];
        break;
      case Subject::kParallel:
        decisions.parallel = values[0];
        break;
      case Subject::kEpilogue:
        decisions.epilogue_in_tile = values[0] == 1;
        break;
      case Subject::kPacking:
        decisions.packing[index] = static_cast<Packing>(values[0]);
        break;
      case Subject::kPackedRun:
        decisions.packed_run = values[0];
        break;
    }
  }
  return decisions;
}

void MasterTemplate::FindUsual() {
  const Decisions wanted = UsualDecisions(*nest_, target_);
  usual_.assign(knobs_->size(), 0);
  for (size_t k = 0; k < usual_.size(); ++k) {
    const Knob& knob = (*knobs_)[k];
    const size_t index = static_cast<size_t>(about_[k].index);
    const auto order = [&](const std::vector<int64_t>& values) { usual_[k] = std::max(0, knob.Find(values)); };
    switch (about_[k].subject) {
      case Subject::kAxis: {
        const AxisSplit& split = wanted.axes[index];
        usual_[k] = knob.Nearest({split.tiles, split.passes, split.registers});
        break;
      }
      case Subject::kReduce: {
        const SumSplit& split = wanted.reduces[index];
        usual_[k] = knob.Nearest({split.blocks, split.steps, split.unrolled});
        break;
      }
      case Subject::kTileOrder:
        order(wanted.tile_order);
        break;
      case Subject::kPassOrder:
        order(wanted.pass_order);
        break;
      case Subject::kSumOrder:
        order(wanted.sum_order);
        break;
      case Subject::kVectors:
        usual_[k] = wanted.vectors;
        break;
      case Subject::kLanes:
        usual_[k] = knob.Nearest({wanted.lanes_divisor});
        break;
      case Subject::kParallel:
        usual_[k] = knob.Nearest({wanted.parallel});
        break;
      case Subject::kEpilogue:
        usual_[k] = wanted.epilogue_in_tile ? 1 : 0;
        break;
      case Subject::kPacking:
        usual_[k] = static_cast<int>(wanted.packing[index]);
        break;
      case Subject::kPackedRun:
        usual_[k] = knob.Nearest({wanted.packed_run});
        break;
    }
  }
  if (Check(usual_).ok()) return;
  // The nearest option of some knob may not fit the machine where the templates' own number does: the point that works
  // and shares most options with it, of many.
  uint64_t state = 1;
  const auto next = [&](size_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % below);
  };
  std::vector<int> best = usual_;
  int most = -1;
  for (int trial = 0; trial < kStartTrials; ++trial) {
    std::vector<int> options = usual_;
    // One knob redrawn at first, then more.
    const int redrawn = 1 + trial * static_cast<int>(options.size()) / kStartTrials;
    for (int i = 0; i < redrawn; ++i) {
      const size_t k = static_cast<size_t>(next(options.size()));
      options[k] = next((*knobs_)[k].options.size());
    }
    int same = 0;
    for (size_t k = 0; k < options.size(); ++k) same += options[k] == usual_[k] ? 1 : 0;
    if (same <= most || !Check(options).ok()) continue;
    most = same;
    best = std::move(options);
    if (redrawn == 1) break;
  }
  usual_ = best;
}

absl::Status MasterTemplate::Check(const std::vector<int>& options) const {
  return CheckDecisions(*nest_, DecisionsOf(options), target_);
}

absl::StatusOr<schedule::Schedule> MasterTemplate::ScheduleFor(const std::vector<int>& options) const {
  const Decisions decisions = DecisionsOf(options);
  SMELT_RETURN_IF_ERROR(CheckDecisions(*nest_, decisions, target_));
  return ScheduleByDecisions(*nest_, decisions, target_);
}

}  // namespace smelt::kernels::config

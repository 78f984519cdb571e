#include "tuner/tile_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "fusion/apply.h"
#include "fusion/kernel.h"
#include "kernels/tiles/tiles.h"
#include "measure/comparison.h"

namespace smelt::tuner {
namespace {

constexpr double kLeastShare = 0.01;  // of the program's time

using kernels::nests::Tile;

// The kernels' shares of the time with their hashes, the largest first, without those that hardly count.
std::vector<std::pair<double, std::string>> Heaviest(const std::vector<measure::KernelRecord>& times) {
  std::map<std::string, double> seconds;
  double total = 0;
  for (const measure::KernelRecord& kernel : times) {
    const double all = kernel.seconds * static_cast<double>(kernel.executions);
    seconds[kernel.hash] += all;
    total += all;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [hash, of_kernel] : seconds) {
    if (of_kernel >= kLeastShare * total) order.push_back({of_kernel / total, hash});
  }
  std::sort(order.rbegin(), order.rend());
  return order;
}

// Tiles in the order in which the model would try them. The front one is left out: the compiler takes it by default, or
// has it tried and found that another spills less (targets/cpu/compile/compile.h).
std::vector<size_t> Rank(gnn::Predictor& predictor, const fusion::Kernel& kernel, const std::vector<Tile>& tiles,
                         const machine::Machine& machine) {
  absl::StatusOr<std::vector<double>> scores = predictor.HasTileTask()
                                                   ? predictor.ScoreTiles(kernel, tiles)
                                                   : gnn::Predictor::Analytical(machine)->ScoreTiles(kernel, tiles);
  std::vector<size_t> ranked(tiles.size() - 1);
  std::iota(ranked.begin(), ranked.end(), 1);
  if (scores.ok()) {
    std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) { return (*scores)[a] < (*scores)[b]; });
  }
  return ranked;
}

// A kernel of the program with the tiles that may be tried, and what became of them so far.
struct Tiling {
  const fusion::Kernel* kernel;
  std::string hash;
  double share;                           // of the program's time
  std::vector<Tile> tiles;                // the compiler's first choice first
  std::vector<size_t> ranked;             // the others, in the order in which the model would try them
  size_t tried = 0;                       // of these
  std::optional<measure::Outcome> usual;  // of the default tile
  size_t chosen = 0;
  double best = 0;  // seconds of the chosen tile, or those that a tile must stay below

  bool Done() const { return tried == ranked.size() || (usual && !usual->ok()); }
};

// Time goes to the kernels as their shares do: the next measurement is of the one that had least for its share.
Tiling* Next(std::vector<Tiling>& tilings) {
  Tiling* next = nullptr;
  const auto wanted = [](const Tiling& tiling) { return tiling.share / static_cast<double>(tiling.tried + 1); };
  for (Tiling& tiling : tilings) {
    if (!tiling.Done() && (next == nullptr || wanted(tiling) > wanted(*next))) next = &tiling;
  }
  return next;
}

// The kernel as the program has it: with the tile that the compiler takes by itself, which is not tried against itself.
absl::StatusOr<measure::Outcome> MeasureUsual(Trials& trials, Tiling* tiling) {
  return trials.MeasureKernel(
      absl::StrCat(tiling->hash, " default"), absl::StrCat(tiling->kernel->name, " default tile"), [&] {
        measure::Runner::KernelResult result = trials.runner().TimeKernel(*tiling->kernel);
        std::erase_if(tiling->ranked, [&](size_t tile) { return tiling->tiles[tile].ToString() == result.tile; });
        return std::move(result.outcome);
      });
}

absl::StatusOr<measure::Outcome> Measure(Trials& trials, const Tiling& tiling, size_t tile) {
  const std::string text = tiling.tiles[tile].ToString();
  return trials.MeasureKernel(absl::StrCat(tiling.hash, " ", text), absl::StrCat(tiling.kernel->name, " ", text),
                              [&] { return trials.runner().TimeKernel(*tiling.kernel, text).outcome; });
}

// One more tile of this kernel. Of many tiles the luckiest looks best: what seems better is timed once more.
absl::Status TryNext(Trials& trials, Tiling* tiling) {
  if (!tiling->usual) {
    SMELT_ASSIGN_OR_RETURN(tiling->usual, MeasureUsual(trials, tiling));
    tiling->best = tiling->usual->best() * (1 - measure::kScreeningGain);
    return absl::OkStatus();
  }
  const size_t tile = tiling->ranked[tiling->tried++];
  SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome, Measure(trials, *tiling, tile));
  if (!outcome.ok() || outcome.best() >= tiling->best) return absl::OkStatus();
  const measure::Outcome again = trials.runner().TimeKernel(*tiling->kernel, tiling->tiles[tile].ToString()).outcome;
  SMELT_RETURN_IF_ERROR(trials.Ended());
  const double seconds = std::max(outcome.best(), again.best());
  if (!again.ok() || seconds >= tiling->best) return absl::OkStatus();
  tiling->best = seconds;
  tiling->chosen = tile;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TileChoice>> SearchTiles(Trials& trials, const fusion::Space& space, const Trial& trial,
                                                    const std::vector<measure::KernelRecord>& times,
                                                    gnn::Predictor& predictor, const TileSearchOptions& options) {
  const std::unique_ptr<hlo::Module> fused = fusion::Apply(space, trial.config);
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused));
  std::map<std::string, const fusion::Kernel*> by_hash;
  for (const fusion::Kernel& kernel : kernels) by_hash[kernel.hash.ToHex()] = &kernel;
  std::vector<Tiling> tilings;
  for (const auto& [share, hash] : Heaviest(times)) {
    auto found = by_hash.find(hash);
    if (found == by_hash.end()) continue;
    const fusion::Kernel& kernel = *found->second;
    // What has no loop nest has no tiles.
    absl::StatusOr<std::vector<Tile>> tiles =
        kernels::nests::EnumerateTiles(kernel.computation(), options.machine, options.ranked_tiles);
    if (!tiles.ok()) continue;
    const std::vector<Tile> others = kernels::nests::OtherAlgorithms(kernel.computation());
    if (tiles->size() + others.size() < 2) continue;
    if (!options.proceed(absl::StrCat("tiles of ", kernel.name))) break;
    std::vector<size_t> ranked = Rank(predictor, kernel, *tiles, options.machine);
    // Other algorithms differ most: they go first, whatever is predicted.
    for (const Tile& other : others) {
      ranked.insert(ranked.begin(), tiles->size());
      tiles->push_back(other);
    }
    tilings.push_back({&kernel, hash, share, *std::move(tiles), std::move(ranked)});
  }
  absl::Status status = absl::OkStatus();
  for (Tiling* next = Next(tilings); next != nullptr && status.ok(); next = Next(tilings)) {
    if (!options.proceed(
            absl::StrFormat("tile %d of %d of %s", next->tried + 1, next->ranked.size(), next->kernel->name)))
      break;
    status = TryNext(trials, next);
  }
  // What is known when time is over counts.
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) return status;
  std::vector<TileChoice> choices;
  for (const Tiling& tiling : tilings) {
    if (tiling.chosen == 0) continue;
    choices.push_back(
        {tiling.kernel->name, tiling.hash, tiling.tiles[tiling.chosen].ToString(), tiling.usual->best(), tiling.best});
    trials.Log(absl::StrFormat("tile %s of %s: %.1f us instead of %.1f us", choices.back().tile, tiling.kernel->name,
                               1e6 * tiling.best, 1e6 * tiling.usual->best()));
  }
  return choices;
}

}  // namespace smelt::tuner

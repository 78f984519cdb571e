#include "tuner/tile_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fusion/apply.h"
#include "fusion/kernel.h"
#include "hlo/status_macros.h"
#include "kernels/space/tiles.h"

namespace smelt::tuner {
namespace {

constexpr double kLeastShare = 0.01;  // of the program's time
constexpr double kLeastGain = 0.03;   // less is not told apart from noise by a few samples

using kernels::space::Tile;

// The kernels' hashes, those with most time first, without those that hardly count.
std::vector<std::string> Heaviest(const std::vector<KernelRecord>& times) {
  std::map<std::string, double> seconds;
  for (const KernelRecord& kernel : times)
    seconds[kernel.hash] += kernel.seconds * static_cast<double>(kernel.executions);
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [hash, total] : seconds) order.push_back({-total, hash});
  std::sort(order.begin(), order.end());
  double total = 0;
  for (const auto& [negative, hash] : order) total -= negative;
  std::vector<std::string> hashes;
  for (auto& [negative, hash] : order) {
    if (-negative >= kLeastShare * total) hashes.push_back(std::move(hash));
  }
  return hashes;
}

// Tiles in the order in which the model would try them; the default, which comes first in `tiles`, is left out.
std::vector<size_t> Rank(gnn::Predictor& predictor, const fusion::Kernel& kernel, const std::vector<Tile>& tiles,
                         const kernels::Target& target) {
  absl::StatusOr<std::vector<double>> scores = predictor.HasTileTask()
                                                   ? predictor.ScoreTiles(kernel, tiles)
                                                   : gnn::Predictor::Analytical(target)->ScoreTiles(kernel, tiles);
  std::vector<size_t> ranked(tiles.size() - 1);
  std::iota(ranked.begin(), ranked.end(), 1);
  if (scores.ok()) {
    std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) { return (*scores)[a] < (*scores)[b]; });
  }
  return ranked;
}

// The outcome of one tile, from the records or the machine.
absl::StatusOr<Outcome> Measure(Trials& trials, const fusion::Kernel& kernel, const Tile& tile) {
  Record record{trials.KeyOf(absl::StrCat(kernel.hash.ToHex(), " ", tile.ToString())), "kernel",
                absl::StrCat(kernel.name, " ", tile.ToString())};
  SMELT_ASSIGN_OR_RETURN(const std::optional<Record> known, trials.records().Find(record.key));
  if (known) return known->outcome;
  const double before = trials.runner().hardware_seconds();
  record.outcome = trials.runner().TimeKernel(kernel, tile).outcome;
  if (trials.Cancelled()) return absl::CancelledError("interrupted");
  record.hardware_seconds = trials.runner().hardware_seconds() - before;
  SMELT_RETURN_IF_ERROR(trials.Keep(record));
  return record.outcome;
}

}  // namespace

absl::StatusOr<std::vector<TileChoice>> SearchTiles(Trials& trials, const fusion::Space& space, const Trial& trial,
                                                    const std::vector<KernelRecord>& times, gnn::Predictor& predictor,
                                                    const TileSearchOptions& options) {
  const std::unique_ptr<hlo::Module> fused = fusion::Apply(space, trial.config);
  SMELT_ASSIGN_OR_RETURN(const std::vector<fusion::Kernel> kernels, fusion::ExtractKernels(*fused));
  std::map<std::string, const fusion::Kernel*> by_hash;
  for (const fusion::Kernel& kernel : kernels) by_hash[kernel.hash.ToHex()] = &kernel;
  std::vector<TileChoice> choices;
  int64_t tuned = 0;
  for (const std::string& hash : Heaviest(times)) {
    auto found = by_hash.find(hash);
    if (found == by_hash.end()) continue;
    const fusion::Kernel& kernel = *found->second;
    // What has no loop nest has no tiles.
    const absl::StatusOr<std::vector<Tile>> tiles =
        kernels::space::EnumerateTiles(kernel.computation(), options.target, options.ranked_tiles);
    if (!tiles.ok() || tiles->size() < 2) continue;
    if (tuned++ == options.kernels) break;
    if (options.proceed && !options.proceed(absl::StrCat("tiles of ", kernel.name))) break;
    SMELT_ASSIGN_OR_RETURN(const Outcome usual, Measure(trials, kernel, tiles->front()));
    if (!usual.ok()) continue;
    double best = usual.best() * (1 - kLeastGain);
    size_t chosen = 0;
    std::vector<size_t> ranked = Rank(predictor, kernel, *tiles, options.target);
    if (static_cast<int64_t>(ranked.size()) > options.tiles_per_kernel) ranked.resize(options.tiles_per_kernel);
    for (size_t i : ranked) {
      if (options.proceed && !options.proceed(absl::StrFormat("tiles of %s: %.1f us by default, trying %s", kernel.name,
                                                              1e6 * usual.best(), (*tiles)[i].ToString())))
        break;
      SMELT_ASSIGN_OR_RETURN(const Outcome outcome, Measure(trials, kernel, (*tiles)[i]));
      if (!outcome.ok() || outcome.best() >= best) continue;
      best = outcome.best();
      chosen = i;
    }
    if (chosen == 0) continue;
    choices.push_back({kernel.name, hash, (*tiles)[chosen].ToString(), usual.best(), best});
    trials.Log(absl::StrFormat("tile %s of %s: %.1f us instead of %.1f us", choices.back().tile, kernel.name,
                               1e6 * best, 1e6 * usual.best()));
  }
  return choices;
}

}  // namespace smelt::tuner

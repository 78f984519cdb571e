#include "tuner/kernel_trials.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/evaluator.h"
#include "measure/comparison.h"
#include "targets/xla/calls.h"
#include "targets/xla/kernel_loop.h"
#include "targets/xla/program.h"

namespace smelt::tuner {
namespace {

// The part of a configuration's cost that may stay predicted.
constexpr double kLittle = 0.03;

}  // namespace

absl::Status KernelTrials::Time(const fusion::Config& config) {
  SMELT_RETURN_IF_ERROR(FusionState::Create(space_, config, counts_, costs_).status());  // predicts what is new
  fusion::Evaluator evaluator(space_, config);
  struct Weight {
    fusion::KernelRef kernel;
    double seconds;
  };
  std::vector<Weight> open;
  double total = 0, predicted = 0;
  for (const fusion::KernelRef& kernel : evaluator.Kernels()) {
    const auto executions = counts_.find(kernel.computation);
    const double seconds =
        costs_.Find(kernel.hash).value_or(0) * (executions == counts_.end() ? 1 : executions->second);
    total += seconds;
    if (done_.contains(kernel.hash)) continue;
    predicted += seconds;
    open.push_back({kernel, seconds});
  }
  // What can be called goes first, whatever is predicted: the two ways may differ by twenty times.
  const auto can_be_called = [&](const Weight& weight) {
    const auto ways = options_.tiles.find(weight.kernel.hash.ToHex());
    return ways != options_.tiles.end() && absl::c_linear_search(ways->second, xla::kCallTile);
  };
  std::stable_sort(open.begin(), open.end(), [&](const Weight& a, const Weight& b) {
    return std::pair(can_be_called(a), a.seconds) > std::pair(can_be_called(b), b.seconds);
  });
  for (const auto& [reference, weight] : open) {
    if (predicted <= kLittle * total && !can_be_called({reference, weight})) break;
    predicted -= weight;
    if (!done_.insert(reference.hash).second) continue;  // the same in another place
    const fusion::Kernel kernel = evaluator.KernelFor(reference);
    if (kernel.computation().root()->opcode() == hlo::Opcode::kBitcast) continue;
    if (!options_.proceed(absl::StrCat("kernel ", kernel.name, ", ", timed_, " timed"))) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(double seconds, Seconds(kernel, ""));
    const std::string hash = kernel.hash.ToHex();
    if (const auto ways = options_.tiles.find(hash); ways != options_.tiles.end()) {
      for (const std::string& tile : ways->second) {
        SMELT_ASSIGN_OR_RETURN(const double so, Seconds(kernel, tile));
        if (!(so < (1 - measure::kScreeningGain) * seconds)) continue;
        tiles_[hash] = tile;
        seconds = so;
      }
    }
    if (std::isfinite(seconds)) costs_.AddMeasured(kernel.hash, seconds);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> KernelTrials::Seconds(const fusion::Kernel& kernel, const std::string& tile) {
  const std::string hash = kernel.hash.ToHex();
  xla::LoopFusionOptions options{.threads = options_.threads};
  if (!tile.empty()) options.tiles[hash] = tile;
  SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome,
                         trials_.MeasureKernel(absl::StrCat("kernel ", hash, tile.empty() ? "" : " ", tile), tile, [&] {
                           ++timed_;
                           return xla::TimeKernelOnXla(trials_.runner(), kernel, options);
                         }));
  return outcome.best();
}

}  // namespace smelt::tuner

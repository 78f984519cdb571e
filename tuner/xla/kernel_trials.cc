#include "tuner/xla/kernel_trials.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/evaluator.h"
#include "hlo/status_macros.h"
#include "tuner/xla/kernel_loop.h"
#include "tuner/xla/program.h"

namespace smelt::tuner::xla {
namespace {

// The part of a configuration's cost that may stay predicted.
constexpr double kLittle = 0.03;
// The library must gain as much, since a program's caches are not those of a loop.
constexpr double kLibraryGain = 0.97;

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
  std::stable_sort(open.begin(), open.end(), [](const Weight& a, const Weight& b) { return a.seconds > b.seconds; });
  for (const auto& [reference, weight] : open) {
    if (predicted <= kLittle * total) break;
    predicted -= weight;
    if (!done_.insert(reference.hash).second) continue;  // the same in another place
    const fusion::Kernel kernel = evaluator.KernelFor(reference);
    if (kernel.computation().root()->opcode() == hlo::Opcode::kBitcast) continue;
    if (!options_.proceed(absl::StrCat("kernel ", kernel.name, ", ", timed_, " timed"))) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(double seconds, Seconds(kernel, /*library=*/false));
    const std::string hash = kernel.hash.ToHex();
    if (options_.library.contains(hash)) {
      SMELT_ASSIGN_OR_RETURN(const double library, Seconds(kernel, /*library=*/true));
      if (library < kLibraryGain * seconds) {
        library_[hash] = kLibraryTile;
        seconds = library;
      }
    }
    if (std::isfinite(seconds)) costs_.AddMeasured(kernel.hash, seconds);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> KernelTrials::Seconds(const fusion::Kernel& kernel, bool library) {
  LoopFusionOptions options{.threads = options_.threads};
  if (library) options.library.insert(kernel.hash.ToHex());
  Record record{trials_.KeyOf(absl::StrCat("kernel ", kernel.hash.ToHex(), library ? " library" : "")), "kernel",
                library ? kLibraryTile : "", 0};
  SMELT_ASSIGN_OR_RETURN(const std::optional<Record> known, trials_.records().Find(record.key));
  if (known) {
    trials_.CountRecorded(known->hardware_seconds);
    return known->outcome.best();
  }
  const double before = trials_.runner().hardware_seconds();
  record.outcome = TimeKernelOnXla(trials_.runner(), kernel, options);
  if (trials_.Cancelled()) return absl::CancelledError("interrupted");
  record.hardware_seconds = trials_.runner().hardware_seconds() - before;
  SMELT_RETURN_IF_ERROR(trials_.records().Add(record));
  ++timed_;
  return record.outcome.best();
}

}  // namespace smelt::tuner::xla

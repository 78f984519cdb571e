#include "tuner/kernel_trials.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/incremental_fusion.h"
#include "hlo/passes/execution_counts.h"

namespace smelt::tuner {
namespace {

// The part of a configuration's cost that may stay predicted.
constexpr double kLittle = 0.03;

}  // namespace

absl::Status KernelTrials::Time(const fusion::Config& config) {
  SMELT_RETURN_IF_ERROR(
      FusionState::Create(tunable_.space(), config, counts_, costs_).status());  // predicts what is new
  fusion::IncrementalFusion evaluator(tunable_.space(), config);
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
  // Kernels whose ways may differ by far go first, whatever is predicted.
  const auto goes_first = [&](const Weight& weight) { return tunable_.WaysDifferMuch(weight.kernel.hash.ToHex()); };
  std::stable_sort(open.begin(), open.end(), [&](const Weight& a, const Weight& b) {
    return std::pair(goes_first(a), a.seconds) > std::pair(goes_first(b), b.seconds);
  });
  for (const auto& [reference, weight] : open) {
    if (predicted <= kLittle * total && !goes_first({reference, weight})) break;
    predicted -= weight;
    if (!done_.insert(reference.hash).second) continue;  // the same in another place
    const fusion::Kernel kernel = evaluator.KernelFor(reference);
    if (tunable_.target().IsNothing(kernel)) continue;
    if (!proceed_(absl::StrCat("kernel ", kernel.name, ", ", timed_, " timed"))) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(double seconds, Seconds(kernel, ""));
    const std::string hash = kernel.hash.ToHex();
    KernelAlone alone{.seconds = seconds, .fastest = seconds};
    for (const std::string& way : tunable_.WaysOf(kernel)) {
      SMELT_ASSIGN_OR_RETURN(const double so, Seconds(kernel, way));
      ++alone.ways;
      alone.fastest = std::min(alone.fastest, so);
      if (!(so < (1 - trials_.ScreeningGain()) * seconds)) continue;
      tiles_[hash] = way;
      seconds = so;
    }
    if (std::isfinite(seconds)) costs_.AddMeasured(kernel.hash, seconds);
    if (std::isfinite(alone.seconds)) alone_[kernel.hash] = alone;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> KernelTrials::Seconds(const fusion::Kernel& kernel, const std::string& way) {
  const std::string subject = absl::StrCat("kernel ", kernel.hash.ToHex(), way.empty() ? "" : " ", way);
  SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome, trials_.MeasureKernel(subject, way, [&] {
    ++timed_;
    return tunable_.target().TimeKernel(trials_.runner(), kernel, way).outcome;
  }));
  return outcome.best();
}

absl::StatusOr<std::vector<KernelAlone>> KernelTrials::KernelsOf(const hlo::Module& fused) const {
  absl::flat_hash_map<Hash128, KernelAlone> found;
  const auto counts = hlo::ExecutionCounts(fused);
  for (const hlo::Computation* computation : fused.ExecutedComputations()) {
    const auto runs = counts.find(computation);
    for (const hlo::Instruction* x : computation->PostOrder()) {
      if (!fusion::IsKernel(*x)) continue;
      SMELT_ASSIGN_OR_RETURN(const fusion::Kernel kernel,
                             fusion::ExtractKernel(*x, tunable_.space().rules().layouts_count));
      const auto alone = alone_.find(kernel.hash);
      if (alone == alone_.end()) continue;
      KernelAlone& one = found.try_emplace(kernel.hash, alone->second).first->second;
      if (one.name.empty()) one.name = kernel.name;
      one.executions += runs == counts.end() ? 1 : static_cast<double>(runs->second);
    }
  }
  std::vector<KernelAlone> kernels;
  for (auto& [hash, kernel] : found) kernels.push_back(std::move(kernel));
  std::sort(kernels.begin(), kernels.end(), [](const KernelAlone& a, const KernelAlone& b) {
    return std::pair(-a.total(), a.name) < std::pair(-b.total(), b.name);
  });
  return kernels;
}

}  // namespace smelt::tuner

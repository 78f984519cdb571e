#include "tuner/calibrate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/kernel_of_module.h"
#include "gnn/corpus/corpus.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/features/features.h"
#include "gnn/features/log_time.h"
#include "gnn/native/engine.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"
#include "measure/records/records.h"
#include "tuner/visits.h"

namespace smelt::tuner {
namespace {

// Nearer memory is never slower than what lies beyond it: a probe of bandwidths that was disturbed may say so.
std::map<std::string, double> OrderedFigures(machine::Machine machine) {
  for (size_t i = machine.levels.size() - 1; i-- > 0;) {
    machine.levels[i].bytes_per_second =
        std::max(machine.levels[i].bytes_per_second, machine.levels[i + 1].bytes_per_second);
  }
  return machine.Figures();
}

// `apart`: with arrays as far away as the programs leave them, and else near.
absl::StatusOr<std::vector<KernelJob>> ReadProbes(const std::string& folder, const targets::Target& target, bool apart,
                                                  uint64_t seed) {
  std::vector<KernelJob> jobs;
  const auto visit = [&](const gnn::KernelExample& example) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<hlo::Module> module,
                           hlo::ParseModule(example.kernel_text, {.file_name = example.program}));
    SMELT_ASSIGN_OR_RETURN(fusion::Kernel kernel, fusion::KernelOfModule(*module));
    if (apart) kernel.distances = example.distances;
    if (!target.IsNothing(kernel)) jobs.push_back({std::move(kernel), {std::nullopt}, example.program, "probe"});
    return absl::OkStatus();
  };
  SMELT_RETURN_IF_ERROR(gnn::ReadCorpus(folder, visit).status());
  std::mt19937_64 random(seed);
  std::shuffle(jobs.begin(), jobs.end(), random);
  return jobs;
}

class Calibrator {
 public:
  Calibrator(const targets::Target& target, const CalibrateOptions& options) : target_(target), options_(options) {}

  absl::StatusOr<CalibrateReport> Run(const std::string& folder) {
    SMELT_RETURN_IF_ERROR(OpenModel());
    // A network that was trained on near arrays takes what far ones cost for something else.
    const bool apart = target_.HasDistances() && engine_->UsesDistances();
    SMELT_ASSIGN_OR_RETURN(const std::vector<KernelJob> jobs, ReadProbes(folder, target_, apart, options_.seed));
    SMELT_RETURN_IF_ERROR(TimeAll(jobs));
    std::vector<gnn::Probe> probes = std::move(steady_);
    // Times of a machine that is never quiet are better than none.
    if (probes.size() < unsteady_.size()) {
      std::move(unsteady_.begin(), unsteady_.end(), std::back_inserter(probes));
      unsteady_.clear();
    }
    report_.unsteady = static_cast<int64_t>(unsteady_.size());
    const std::vector<float> weights = gnn::LastLayerOf(report_.model.tasks["fusion"]);
    SMELT_RETURN_IF_ERROR(HoldOut(probes, weights));
    SMELT_ASSIGN_OR_RETURN(gnn::Calibration calibration, gnn::Calibrate(probes, weights));
    calibration.figures = here_.Figures();
    calibration.device = measure::DeviceName();
    calibration.compiler = target_.CompilerVersion();
    report_.kernels = calibration.kernels;
    report_.model.summary =
        absl::StrCat(report_.model.summary, "; calibrated on ", calibration.kernels, " kernels of ",
                     target_.id().ToString(), absl::StrFormat(", log error %.3f", calibration.error));
    report_.model.calibration = std::move(calibration);
    report_.seconds = Since(start_);
    return std::move(report_);
  }

 private:
  // How good a fit is on kernels that it has not seen.
  absl::Status HoldOut(const std::vector<gnn::Probe>& probes, const std::vector<float>& weights) {
    constexpr size_t kEvery = 5;
    std::vector<gnn::Probe> seen;
    for (size_t i = 0; i < probes.size(); ++i) {
      if (i % kEvery != 0) seen.push_back(probes[i]);
    }
    SMELT_ASSIGN_OR_RETURN(const gnn::Calibration fit, gnn::Calibrate(seen, weights));
    double count = 0;
    for (size_t i = 0; i < probes.size(); i += kEvery) {
      const gnn::Probe& probe = probes[i];
      const size_t width = probe.hidden.size();
      double trained = probe.log_estimate + weights[width];
      for (size_t h = 0; h < width; ++h) trained += static_cast<double>(probe.hidden[h]) * weights[h];
      const gnn::Prediction fitted =
          fit.Predict(probe.kind, probe.here, probe.log_estimate, probe.hidden.data(), width);
      const double off = std::fabs(std::log(fitted.seconds / probe.seconds));
      report_.error_before += std::fabs(trained - gnn::LogTime(probe.seconds));
      report_.error += off;
      report_.inside += off <= 1.645 * fitted.log_deviation ? 1 : 0;
      ++count;
    }
    for (double* sum : {&report_.error_before, &report_.error, &report_.inside}) *sum /= count;
    return absl::OkStatus();
  }

  absl::Status OpenModel() {
    SMELT_ASSIGN_OR_RETURN(report_.model, gnn::LoadModel(options_.model));
    gnn::ModelFile& model = report_.model;
    model.calibration.reset();
    const std::string kind = machine::TargetId::Parse(model.target).kind;
    if (!model.tasks.contains("fusion"))
      return absl::FailedPreconditionError(
          absl::StrCat(options_.model, ": has no network for the fusion task to adapt"));
    if (kind != target_.id().kind) {
      return absl::FailedPreconditionError(absl::StrCat(options_.model, ": predicts kernels of target `", model.target,
                                                        "`, and cannot be adapted to `", target_.id().ToString(), "`"));
    }
    SMELT_ASSIGN_OR_RETURN(engine_, gnn::Engine::Create(model.tasks["fusion"]));
    trained_under_ = target_.machine();
    SMELT_RETURN_IF_ERROR(trained_under_.TakeFigures(model.target_figures));
    here_ = target_.machine();
    return here_.SetFigures(OrderedFigures(here_));
  }

  absl::Status TimeAll(const std::vector<KernelJob>& jobs) {
    constexpr size_t kAtOnce = 32;  // compiled before they are timed
    const double time = 0.95 * options_.seconds;
    const auto take = [&](const KernelJob& job, const KernelVisit& visit) {
      Take(job, visit);
      return absl::OkStatus();
    };
    for (size_t begin = 0; begin < jobs.size() && Since(start_) < time; begin += kAtOnce) {
      if (options_.cancel != nullptr && *options_.cancel) return absl::CancelledError("interrupted");
      const std::vector<KernelJob> some = Copy(jobs, begin, std::min(jobs.size(), begin + kAtOnce));
      const VisitOptions visits{options_.policy, 1,       options_.seed,
                                options_.cancel, &watch_, std::max(time - Since(start_), 0.01)};
      SMELT_RETURN_IF_ERROR(VisitKernels(target_, visits, some, take));
    }
    return absl::OkStatus();
  }
  static std::vector<KernelJob> Copy(const std::vector<KernelJob>& jobs, size_t begin, size_t end) {
    std::vector<KernelJob> some;
    for (size_t i = begin; i < end; ++i) {
      const fusion::Kernel& kernel = jobs[i].kernel;
      some.push_back(
          {{kernel.module->Clone(), kernel.hash, kernel.name, kernel.operands, kernel.known, kernel.distances},
           jobs[i].tiles,
           jobs[i].program,
           jobs[i].provenance});
    }
    return some;
  }

  void Take(const KernelJob& job, const KernelVisit& visit) {
    if (visit.times.empty() || !visit.times[0].outcome.ok()) {
      ++report_.failed;
      return;
    }
    const hlo::Computation& kernel = job.kernel.computation();
    const gnn::KernelGraph graph =
        gnn::ExtractFeatures(kernel, trained_under_, {}, job.kernel.distances, engine_->UsesSchedules());
    const gnn::KernelGraph* const pointer = &graph;
    gnn::Probe probe;
    (void)engine_->PredictLogTimes({&pointer, 1}, &probe.hidden);
    probe.kind = gnn::KernelKind(kernel);
    probe.here = kernels::cost::EstimateKernel(kernel, here_);
    probe.log_estimate = graph.LogEstimate();
    probe.seconds = visit.times[0].outcome.best();
    (visit.unsteady ? unsteady_ : steady_).push_back(std::move(probe));
    ++timed_;
    if (options_.progress != nullptr) {
      options_.progress->Update(absl::StrFormat("%d kernels timed, %d in a spell, %.0f of %.0f s", timed_,
                                                unsteady_.size(), Since(start_), options_.seconds));
    }
  }

  const targets::Target& target_;
  const CalibrateOptions& options_;
  std::unique_ptr<gnn::Engine> engine_;
  machine::Machine trained_under_, here_;
  SpellWatch watch_;
  std::vector<gnn::Probe> steady_, unsteady_;
  int64_t timed_ = 0;
  CalibrateReport report_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

absl::StatusOr<CalibrateReport> CalibrateModel(const std::string& probes, const targets::Target& target,
                                               const CalibrateOptions& options) {
  return Calibrator(target, options).Run(probes);
}

}  // namespace smelt::tuner

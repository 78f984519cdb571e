#include "gnn/calibration/calibration.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gnn/features/log_time.h"

namespace smelt::gnn {
namespace {

constexpr int64_t kLeastProbes = 20;
constexpr int64_t kLeastOfKind = 8;  // a kind with fewer has the base of all

const KindBase& BaseOf(const std::map<std::string, KindBase>& kinds, const std::string& kind) {
  static const KindBase& plain = *new KindBase();
  if (const auto found = kinds.find(kind); found != kinds.end()) return found->second;
  const auto any = kinds.find("");
  return any != kinds.end() ? any->second : plain;
}

// What the coefficients are multiplied with; see the header.
std::vector<double> RowOf(const std::map<std::string, KindBase>& kinds, const std::string& kind,
                          const kernels::cost::CostEstimate& here, double log_estimate, const float* hidden,
                          size_t hidden_width) {
  std::vector<double> row(hidden, hidden + hidden_width);
  row.push_back(1);
  row.push_back(LogTime(BaseOf(kinds, kind).Seconds(here)) - log_estimate);
  for (const auto& [name, base] : kinds) row.push_back(!name.empty() && name == kind ? 1 : 0);
  return row;
}

// Relative errors count, so that small kernels count as much as large ones.
absl::StatusOr<KindBase> FitBase(const std::vector<const Probe*>& probes) {
  Equations rows;
  for (const Probe* probe : probes) {
    rows.push_back({probe->here.compute_seconds / probe->seconds, probe->here.memory_seconds / probe->seconds,
                    kLogTimeUnit / probe->seconds});
  }
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> x,
                         NonNegativeLeastSquares(rows, std::vector<double>(rows.size(), 1.0)));
  return KindBase{x[0], x[1], x[2] * kLogTimeUnit};
}

}  // namespace

double KindBase::Seconds(const kernels::cost::CostEstimate& estimate) const {
  return compute * estimate.compute_seconds + memory * estimate.memory_seconds + constant;
}

Prediction Calibration::Predict(const std::string& kind, const kernels::cost::CostEstimate& here, double log_estimate,
                                const float* hidden, size_t hidden_width) const {
  const std::vector<double> row = RowOf(kinds, kind, here, log_estimate, hidden, hidden_width);
  return {SecondsOfLogTime(log_estimate + layer.Mean(row.data())), std::sqrt(layer.Variance(row.data()))};
}

absl::StatusOr<Calibration> Calibrate(const std::vector<Probe>& probes, const std::vector<float>& weights) {
  if (static_cast<int64_t>(probes.size()) < kLeastProbes || weights.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(probes.size(), " timed kernels are too few to adapt a model to: at ",
                                                   "least ", kLeastProbes, " are needed. Give it more time"));
  }
  Calibration calibration;
  calibration.kernels = static_cast<int64_t>(probes.size());
  std::map<std::string, std::vector<const Probe*>> by_kind;
  for (const Probe& probe : probes) {
    if (!(probe.seconds > 0) || probe.hidden.size() + 1 != weights.size())
      return absl::InvalidArgumentError("a probe has no time, or other hidden values than the model");
    by_kind[""].push_back(&probe);
    by_kind[probe.kind].push_back(&probe);
  }
  for (const auto& [kind, of_kind] : by_kind) {
    if (static_cast<int64_t>(of_kind.size()) < kLeastOfKind) continue;
    SMELT_ASSIGN_OR_RETURN(calibration.kinds[kind], FitBase(of_kind));
  }
  const size_t hidden = weights.size() - 1;
  Equations rows;
  std::vector<double> targets;
  std::vector<double> squares(hidden, 0);
  for (const Probe& probe : probes) {
    rows.push_back(RowOf(calibration.kinds, probe.kind, probe.here, probe.log_estimate, probe.hidden.data(), hidden));
    targets.push_back(LogTime(probe.seconds) - probe.log_estimate);
    for (size_t i = 0; i < hidden; ++i) squares[i] += static_cast<double>(probe.hidden[i]) * probe.hidden[i];
  }
  PriorOptions prior;
  prior.mean.assign(weights.begin(), weights.end());
  prior.mean.resize(rows[0].size(), 0.0);
  for (size_t i = 0; i < hidden; ++i) {
    // A unit that no probe wakes keeps its weight.
    const double typical = std::sqrt(squares[i] / static_cast<double>(probes.size()));
    prior.deviation.push_back(typical > 1e-6 ? 1 / (typical * std::sqrt(static_cast<double>(hidden))) : 0);
  }
  prior.deviation.push_back(1);
  prior.deviation.push_back(1);
  for (const auto& [kind, base] : calibration.kinds) prior.deviation.push_back(kind.empty() ? 0 : 0.5);
  SMELT_ASSIGN_OR_RETURN(calibration.layer, FitLinear(rows, targets, prior, &calibration.error));
  return calibration;
}

}  // namespace smelt::gnn

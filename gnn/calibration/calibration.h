// A model adapted to a machine that it was not trained on: another base for each kind of kernel, and another last
// layer, both in closed form from the times of a few hundred kernels there.
//
//   Calibration calibration = Calibrate(probes, weights).value();
//   Prediction p = calibration.Predict("dot", estimate, log_estimate, hidden.data(), hidden.size());
//
// The network stays as it is and sees features under the figures of the machine that it was trained on. log(seconds /
// 100 ns) is the trained estimate, plus coefficients times: the hidden values that the network's last layer weighs;
// one; how far the base of this machine lies from the trained estimate; and one for each kind of kernel. The prior is
// the trained last layer and nothing of the rest (Bayesian linear regression).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/calibration/least_squares.h"
#include "kernels/cost/analytical.h"

namespace smelt::gnn {

struct Prediction {
  double seconds = 0;
  // Standard deviation of the logarithm of the time about the prediction; 0: not known.
  double log_deviation = 0;
};

// Seconds of a kind of kernel: each coefficient is at least 0.
struct KindBase {
  double compute = 1, memory = 1;  // times the analytical model's, on this machine
  double constant = 0;             // seconds
  double Seconds(const kernels::cost::CostEstimate& estimate) const;
};

struct Calibration {
  std::map<std::string, double> figures;  // machine::Machine::Figures() here
  std::string device, compiler;           // the CPU as the system names it; codegen's version
  int64_t kernels = 0;                    // that were timed
  double error = 0;                       // mean absolute error of the log time, each kernel predicted from the others
  std::map<std::string, KindBase> kinds;  // "": any other
  LinearPosterior layer;

  // `here`: the analytical estimate under `figures`. `log_estimate`: the trained one's, as in the features. `hidden`:
  // Engine::PredictLogTimes'.
  Prediction Predict(const std::string& kind, const kernels::cost::CostEstimate& here, double log_estimate,
                     const float* hidden, size_t hidden_width) const;
};

// A timed kernel.
struct Probe {
  std::string kind;  // KernelKind
  kernels::cost::CostEstimate here;
  double log_estimate = 0;
  std::vector<float> hidden;
  double seconds = 0;
};

// `weights`: of the trained last layer, with its bias behind them. Figures, device and compiler are the caller's to
// fill. InvalidArgument: fewer than 20 kernels.
absl::StatusOr<Calibration> Calibrate(const std::vector<Probe>& probes, const std::vector<float>& weights);

}  // namespace smelt::gnn

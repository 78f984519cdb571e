// Makes an int8 program of a float one: symmetric, weights by output channel, activations by tensor, calibrated on
// inputs.
//
//   // weights: by parameter number; samples: one literal a parameter each, those of weights may be empty
//   QuantizedProgram quantized = Quantize(module, weights, samples, EvaluatorEngine(), {}).value();
//   std::cout << ReportToText(quantized.report);
//
// The scheme is that of Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference" (CVPR 2018, Sections 2.1 to 2.4), with zero points of zero. The result takes the
// parameters of the float program, in their order, so that it stands in for it; what it reads of the weights are
// constants of its own, and the parameters that they came by are left unread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/quantize/calibration.h"
#include "hlo/quantize/known_values.h"
#include "hlo/quantize/report.h"

namespace smelt::hlo::quantize {

// Runs a program on one literal a parameter; gives the result as one literal of the root's shape.
using Run = std::function<absl::StatusOr<Literal>(absl::Span<const Literal* const>)>;
// Makes a module ready to run, many times; the module need not live on. What compiles is the caller's to choose.
using Engine = std::function<absl::StatusOr<Run>(const Module&)>;

// The oracle: slow, and always there.
Engine EvaluatorEngine(const std::atomic<bool>* cancel = nullptr);

struct QuantizeOptions {
  CalibrationOptions calibration;
  std::vector<std::string> keep_float;  // convolutions and dots that stay float, by name
  bool drop_unread_parameters = false;  // parameters that nothing reads any more, and are renumbered
  const std::vector<std::vector<Literal>>* test_samples = nullptr;  // whose errors are reported; null: `samples`
  // What is going on, for people: a stage, and how much of how many is done.
  std::function<void(const char* stage, int64_t done, int64_t count)> progress;
  const std::atomic<bool>* cancel = nullptr;  // once true, a Cancelled error soon
};

struct QuantizedProgram {
  std::unique_ptr<Module> module;
  Report report;
};

// The module must verify; it is not changed. Where nothing can be int8, an equal module comes back, and the report says
// why. Errors: InvalidArgument, where the module has no convolution and no dot, no sample is given, a sample or weight
// does not fit its parameter, or a layer's scales are out of reach; those of the engine; Cancelled.
absl::StatusOr<QuantizedProgram> Quantize(const Module& module, const Weights& weights,
                                          const std::vector<std::vector<Literal>>& samples, const Engine& engine,
                                          const QuantizeOptions& options);

}  // namespace smelt::hlo::quantize

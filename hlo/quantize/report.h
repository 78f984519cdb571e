// What quantisation did and what it costs in accuracy: layer by layer, in total, and what stayed float.
//
//   Report report = Quantize(module, weights, samples, engine, {}).value().report;
//   std::cout << ReportToText(report);
//
// Errors are those of the quantised program against the float one on the same inputs, so that a layer's error holds
// what came in with its data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hlo/literal.h"
#include "hlo/quantize/plan.h"

namespace smelt::hlo::quantize {

// How far one array is from another, over any number of arrays.
class ErrorSum {
 public:
  void Add(const Literal& want, const Literal& got);

  int64_t count() const { return count_; }
  double max() const { return max_; }
  // Root mean square of the error over that of the signal; 0 where both are zero.
  double RelativeRms() const;
  // 10 log10(signal / error) of their squares; infinite where the error is zero.
  double SignalToNoise() const;

 private:
  int64_t count_ = 0;
  double max_ = 0, signal_ = 0, noise_ = 0;
};

struct LayerReport {
  std::string name;  // of the float instruction that it starts with
  std::string opcode;
  std::string out;  // its last float instruction
  bool integer_out = false;
  bool residual = false, clipped = false, scaled = false;  // what it took in
  double data_scale = 0;                                   // of a step of its data
  double out_scale = 0;                                    // of a step of its result; 0: float
  int64_t weights = 0;                                     // elements
  int64_t channels = 1;                                    // with scales of their own
  ErrorSum error;
};

// Instructions of the program as it is after call inlining and the expansion of batch norms.
struct InstructionReport {
  std::string name, opcode, shape;
  bool integer = false;
  std::string why;  // the layer that it is part of, or why it is float
};

struct Report {
  std::vector<LayerReport> layers;
  std::vector<InstructionReport> instructions;  // in post order; without what depends on weights alone
  int64_t contractions = 0, integer_contractions = 0;
  ErrorSum total;  // over all floats of the result
  int64_t samples = 0, test_samples = 0;
  int64_t classified = 0, agreeing = 0;  // rows of a result [rows, classes] whose largest class is the same
  bool is_classifier = false;
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;  // of the weights that became int8
};

// The part that a plan knows: everything but errors and scales.
Report DescribePlan(const Computation& computation, const Plan& plan, const KnownValues& known);

// Adds the agreement of the largest class, row by row, where the result is an array of floats [rows, classes] and
// nothing else.
void CountAgreement(const Literal& want, const Literal& got, Report* report);

// Two tables and a summary, for people. `all`: each instruction by name; otherwise those that stay float by opcode and
// reason, with how many.
std::string ReportToText(const Report& report, bool all = false);

}  // namespace smelt::hlo::quantize

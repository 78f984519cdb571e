// Golden files: outputs that a trusted compiler computed for a module, with the inputs and tolerances that go with
// them.
//
//   Golden golden = Golden::Load("bert.golden.safetensors").value();
//   std::vector<Literal> inputs = golden.MakeInputs(module).value();
//   std::vector<OutputComparison> outputs = golden.Compare(result).value();   // of running the module on them
//   for (const OutputComparison& output : outputs) {
//     if (!output.ok) std::cout << output.index << ": " << output.error;
//   }
//
// The file is a safetensors file whose metadata describes it:
//   inputs                     JSON list of {type, dims, low, high}, one per array leaf of the parameters
//   first_stream               number of the first leaf in the formula of inputs.h
//   f64_arithmetic             "double": leaves of type f64 are computed in f64, not in f32
//   outputs                    JSON list of {type, dims}, one per array leaf of the result
//   metric, tolerance          elementwise: largest |got - want| / max(|want|, |got|, 0.001 * largest finite |want|)
//                              rms: root mean square of got - want, over the root mean square of the finite values of
//                              want
//   tolerances                 JSON list that replaces `tolerance`; null: noise, only the shape is checked
//   exact, integer_mismatch    integers and predicates must be equal, or at most this share of them may differ
// Tensor out.K holds output K, or out.K.value holds its elements at the flat row-major positions out.K.index. NaN
// equals NaN, infinity equals infinity of the same sign; where only one side is either, the error is infinite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::hlo {

enum class GoldenMetric : uint8_t { kElementwise, kRms };

struct OutputComparison {
  int64_t index = 0;                // of the array leaf of the result
  double error = 0;                 // by the metric; of integers and predicates, the share that differs
  std::optional<double> tolerance;  // absent: only the shape is checked
  bool ok = false;
};

class Golden {
 public:
  static absl::StatusOr<Golden> Load(const std::string& path);

  // One literal per parameter. An error when the module's parameters are not those of the file. `sample`: which of many
  // such lists, all in the same ranges; the outputs are those of sample 0.
  absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, int64_t sample = 0) const;

  // One comparison per array leaf of the result, in order. An error when the number of outputs, a shape or a kind of
  // type is another.
  absl::StatusOr<std::vector<OutputComparison>> Compare(const Literal& result) const;

  // What to know about this module; mostly empty.
  const std::string& note() const { return note_; }

 private:
  struct Leaf {
    std::string type;
    std::vector<int64_t> dimensions;
    InputRange range;
  };
  static absl::StatusOr<std::vector<Leaf>> ReadLeaves(const SafetensorsFile& file, const std::string& path,
                                                      const char* key, bool ranges);
  absl::StatusOr<OutputComparison> CompareOutput(int64_t k, const Literal& got) const;

  std::string path_;
  std::string note_;
  SafetensorsFile file_;
  std::vector<Leaf> inputs_;
  std::vector<Leaf> outputs_;
  InputOptions input_options_;
  GoldenMetric metric_ = GoldenMetric::kElementwise;
  std::vector<std::optional<double>> tolerances_;
  double integer_mismatch_ = 0;
};

// Two numbers of the type that lie below it are equal: the smallest that is not subnormal where a processor takes those
// for zero (base/float_mode.h), in some instructions and not in others; 0 for types that are computed in a wider one.
double LeastOf(PrimitiveType type);

// The error of `got` by a metric against `want`, element by element: what Golden uses, for comparing two results of
// one's own (compiled against evaluator, fused against unfused). Shapes must have equal dimensions. Integers and
// predicates: the share that differs, whatever the metric. Where a part of a complex number is to be NaN, any that is
// not finite will do.
absl::StatusOr<double> ComparisonError(const Literal& want, const Literal& got, GoldenMetric metric);

}  // namespace smelt::hlo

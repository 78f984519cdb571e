// What any right engine gives for a module: for engines that are compared with ours from outside, as XLA's own is by
// tests/conformance/xla_runs_random.py.
//
//   Expectation expected = Expect(module, seed, 10).value();
//   WriteExpectation("folder", module, expected);    // which must exist
//
// The folder gets module.hlo, inputs.safetensors (in.0, in.1, ...) and expected.safetensors: out.0, out.1, ..., one an
// array leaf of the result, and `tolerances` among its metadata, a JSON list of the errors (LeafError) that each may
// have; null where rounding alone decides about the result.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::fuzz {

struct Expectation {
  std::vector<hlo::Literal> inputs;   // one a parameter, made by GenerateInputs
  std::vector<hlo::Literal> outputs;  // the evaluator's, array leaves
  std::vector<double> tolerances;     // at least LeafTolerances, and twice what rounding was seen to move
};

// Errors: those of the evaluator, of which Unimplemented and DeadlineExceeded (after `seconds`) are no finding.
absl::StatusOr<Expectation> Expect(const hlo::Module& module, uint64_t seed, double seconds);

absl::Status WriteExpectation(const std::string& folder, const hlo::Module& module, const Expectation& expectation);

// Array leaves of the evaluator's result, computed on one thread. Errors: as Expect.
absl::StatusOr<std::vector<hlo::Literal>> EvaluateLeaves(const hlo::Module& module,
                                                         const std::vector<hlo::Literal>& inputs, double seconds);

// in.0, in.1, ... for `smelt run --inputs`.
absl::Status WriteInputs(const std::string& path, const std::vector<hlo::Literal>& inputs);

}  // namespace smelt::fuzz

#include "fuzz/trial/expectation.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fuzz/generate/generate.h"
#include "fuzz/trial/leaves.h"
#include "fuzz/trial/stability.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/printer.h"

namespace smelt::fuzz {
namespace {

constexpr int kPerturbations = 16;

// Array leaves under numbered names.
absl::Status WriteLeaves(const std::string& path, const char* prefix, const std::vector<hlo::Literal>& values,
                         hlo::SafetensorsFile file) {
  std::vector<const hlo::Literal*> leaves;
  for (const hlo::Literal& value : values) AppendLeaves(value, &leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    file.tensors.push_back({absl::StrCat(prefix, i), hlo::ToStorable(*leaves[i])});
  }
  return hlo::WriteSafetensors(path, file);
}

}  // namespace

absl::StatusOr<std::vector<hlo::Literal>> EvaluateLeaves(const hlo::Module& module,
                                                         const std::vector<hlo::Literal>& inputs, double seconds) {
  std::vector<const hlo::Literal*> arguments;
  for (const hlo::Literal& input : inputs) arguments.push_back(&input);
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal result,
                         hlo::Evaluate(module, arguments, {.threads = 1, .max_seconds = seconds}));
  return LeavesOf(result);
}

absl::StatusOr<Expectation> Expect(const hlo::Module& module, uint64_t seed, double seconds) {
  Expectation expectation;
  SMELT_ASSIGN_OR_RETURN(expectation.inputs, GenerateInputs(module, seed));
  SMELT_ASSIGN_OR_RETURN(expectation.outputs, EvaluateLeaves(module, expectation.inputs, seconds));
  expectation.tolerances = LeafTolerances(module);
  for (int trial = 0; trial < kPerturbations; ++trial) {
    const auto moved =
        EvaluateLeaves(*Perturbed(module, seed + static_cast<uint64_t>(trial)), expectation.inputs, seconds);
    if (!moved.ok()) continue;
    for (size_t i = 0; i < expectation.outputs.size(); ++i) {
      const double error = LeafError(expectation.outputs[i], (*moved)[i]);
      expectation.tolerances[i] = std::max(expectation.tolerances[i], 2 * error);
    }
  }
  return expectation;
}

absl::Status WriteInputs(const std::string& path, const std::vector<hlo::Literal>& inputs) {
  return WriteLeaves(path, "in.", inputs, {});
}

absl::Status WriteExpectation(const std::string& folder, const hlo::Module& module, const Expectation& expectation) {
  nlohmann::json tolerances = nlohmann::json::array();
  for (double tolerance : expectation.tolerances) {
    tolerances.push_back(std::isfinite(tolerance) ? nlohmann::json(tolerance) : nlohmann::json());
  }
  SMELT_RETURN_IF_ERROR(smelt::WriteFile(folder + "/module.hlo", hlo::ToText(module)));
  SMELT_RETURN_IF_ERROR(WriteInputs(folder + "/inputs.safetensors", expectation.inputs));
  return WriteLeaves(folder + "/expected.safetensors", "out.", expectation.outputs,
                     {.metadata = {{"tolerances", JsonText(tolerances)}}, .tensors = {}});
}

}  // namespace smelt::fuzz

// Inputs under which a program's results say something about it.
//
// The formula's default, -1 to 1 for every number, makes most networks useless as a test: variances are negative, so
// that normalisation gives NaN and NaN equals NaN; weights of a recurrent network are so large that rounding errors
// double from step to step. Tried in turn, until the results are finite:
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/golden/inputs.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace smelt::measure {

enum class InputKind : uint8_t {
  kScaled,    // matrices and more: as weights are initialised, uniform with variance 1 / (elements / last dimension);
              // scalars and vectors, also as [1,1,64] (scales, biases, variances): 0.5 to 1.5
  kUnit,      // -1 to 1
  kPositive,  // 0.1 to 1
};
inline constexpr std::array kInputKinds = {InputKind::kScaled, InputKind::kUnit, InputKind::kPositive};

std::string_view InputKindName(InputKind kind);
// InvalidArgument: no such name.
absl::StatusOr<InputKind> ParseInputKind(std::string_view name);

// How the inputs of a program are made.
struct TestInputs {
  InputKind kind = InputKind::kUnit;
  std::map<int64_t, int64_t> limits;  // of leaves that are indices, as hlo::IndexLimits finds them

  static TestInputs Of(const hlo::Module& module, InputKind kind);
  bool operator==(const TestInputs&) const = default;
};

// The range of an array leaf of the parameters. Integers have the formula's default range, up to their limit.
hlo::InputRange RangeOf(const TestInputs& inputs, int64_t leaf, const hlo::Shape& shape);
// One literal a parameter of the entry. Errors: those of hlo::MakeInputs.
absl::StatusOr<std::vector<hlo::Literal>> MakeInputs(const hlo::Module& module, const TestInputs& inputs);

}  // namespace smelt::measure

// Inputs and outputs of a run: where they come from, where they go, how they are compared.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/golden/golden.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::cli {

// Array leaves of values, in order; tokens are left out.
std::vector<const hlo::Literal*> Leaves(absl::Span<const hlo::Literal> values);
// Puts leaves back into a literal of that shape; the leaves are moved out of `leaves`.
hlo::Literal Assemble(const hlo::Shape& shape, std::vector<hlo::Literal>& leaves);

// One literal a parameter from a safetensors file with tensors `in.0`, `in.1`, ..., one a leaf. `known`: numbers of
// parameters that the file need not have; their literals are empty.
absl::StatusOr<std::vector<hlo::Literal>> ReadInputs(const std::string& path, const hlo::Module& module,
                                                     const std::set<int64_t>& known = {});
// Tensors `out.0`, `out.1`, ...
absl::Status WriteOutputs(const std::string& path, const hlo::Literal& result);

// Tells on standard error that the text left constants out (`{...}`), so that results are not the dumped program's.
void WarnOfElidedConstants(const hlo::Module& module, const std::string& path);

// `out.0 error=1.2e-07 tolerance=0.001 ok`, a line an output; returns whether all are ok.
bool PrintComparisons(const std::vector<hlo::OutputComparison>& comparisons);
// `out.0 f32[1,1000] min=… max=… mean=…`, a line an output; of the elements that are numbers, with how many are none.
void PrintSummary(const hlo::Literal& result);

}  // namespace smelt::cli

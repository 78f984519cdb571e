// Random modules that verify: what the fuzzer feeds the engines.
//
//   std::unique_ptr<hlo::Module> module = GenerateModule(seed, 17, {});
//
// Module i of a seed is the same on every machine and whatever was made before it. The entry's parameters are arrays;
// its root is an array or a tuple of several values, the last ones first, so that little of what was made is dead.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace smelt::fuzz {

struct GeneratorOptions {
  int64_t max_instructions = 14;  // rules applied in the entry; helpers such as clamps come on top
  int64_t max_elements = 1024;    // of an array; one module in sixteen may have 32 times as many
};

std::unique_ptr<hlo::Module> GenerateModule(uint64_t seed, uint64_t index, const GeneratorOptions& options = {});

// Inputs of any module for a seed, an array leaf at a time: what a leaf holds follows from the seed, the parameter's
// name and its shape, so that removing parameters does not change the others. Floats lie in -2 to 2, integers are small
// numbers or use every bit; one leaf in eight has
// NaN, infinities, negative zeros or the ends of the range among them, unless the module has convolutions.
absl::StatusOr<std::vector<hlo::Literal>> GenerateInputs(const hlo::Module& module, uint64_t seed);

}  // namespace smelt::fuzz

// Writes the int8 graph that a plan and its scales describe, in place of the float one.
//
//   // scales: one for every value of plan.quantized
//   QuantizedGraph graph = WriteQuantizedGraph(module, plan, scales, /*keep_probes=*/false).value();
//
// All of it is plain HLO: s8 operands with sums of s32, MULSHIFT rescalings (multiply_shift.h), clamps, conversions.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/quantize/contraction.h"
#include "hlo/quantize/plan.h"

namespace smelt::hlo::quantize {

// What one step of each int8 value stands for.
using Scales = absl::flat_hash_map<const Instruction*, double>;

struct QuantizedGraph {
  std::unique_ptr<Module> module;
  // Where probes are kept, the root of the entry is a tuple of the results of plan.layers as floats, in order, and the
  // module's own root after them.
};

// `module` is the one that the plan was made of; it is not changed. InvalidArgument: a layer's scale is too far from
// what it reads.
absl::StatusOr<QuantizedGraph> WriteQuantizedGraph(const Module& module, const Plan& plan, const Scales& scales,
                                                   bool keep_probes);

// The same for the float module: a copy whose root is a tuple of these values, and its own root after them.
std::unique_ptr<Module> WithProbes(const Module& module, const std::vector<const Instruction*>& probes);

}  // namespace smelt::hlo::quantize

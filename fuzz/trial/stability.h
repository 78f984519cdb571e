// How much a module's results may differ between two engines that are both right.
//
// Two parts. LeafTolerances follows operands: results of operations that no engine may round must be equal; the others
// get the tolerance of the coarsest type that went into them. Where results differ by more, Perturbed gives copies of
// the module in which every rounded value is off by a few units in the last place, at random; how far the evaluator's
// own results then move is how far rounding alone may move them. Conditions that hang on rounding (a comparison of
// nearly equal numbers) show as large moves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hlo/module.h"

namespace smelt::fuzz {

// One an array leaf of the result, for hlo::ComparisonError by root mean square; 0: equal.
std::vector<double> LeafTolerances(const hlo::Module& module);

// The same program with every rounded value multiplied by factors near 1. Values with 8 bits or fewer, where one unit
// is much, change in one element of four.
std::unique_ptr<hlo::Module> Perturbed(const hlo::Module& module, uint64_t seed);

}  // namespace smelt::fuzz

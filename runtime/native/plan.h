// The plan of any native operation, and the operation that it becomes.
//
//   const Plan plan = TopKPlan{.rows = 8, .columns = 100, .k = 5};
//   std::shared_ptr<const NativeOperation> operation = MakeOperation(plan);
//
// Plans are plain values: a program that is written to a file keeps them and makes its operations anew.
#pragma once

#include <memory>
#include <variant>

#include "runtime/native/fft.h"
#include "runtime/native/linear_algebra.h"
#include "runtime/native/random_bits.h"
#include "runtime/native/scatter.h"
#include "runtime/native/select_and_scatter.h"
#include "runtime/native/sort.h"

namespace smelt::runtime::native {

// Their order is that of files (runtime/deploy): new ones go to the end.
using Plan = std::variant<FftPlan, ScatterPlan, SelectAndScatterPlan, SortPlan, TopKPlan, CholeskyPlan,
                          TriangularSolvePlan, RandomBitsPlan, LuPlan>;

// Null where there is no operation for such a plan: a select-and-scatter of too large a window.
std::unique_ptr<NativeOperation> MakeOperation(const Plan& plan);

}  // namespace smelt::runtime::native

// A module that is one kernel, as corpora and compiler passes hand it over.
//
//   Kernel kernel = KernelOfModule(module).value();
//
// The module's only kernel where it has but one (a fusion, or an instruction between its parameters and its root);
// otherwise the entry computation as a whole, as if it were the body of one fusion.
#pragma once

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "hlo/module.h"

namespace smelt::fusion {

// InvalidArgument where it is none: nothing in it runs, it has control flow, or more than one fusion.
absl::StatusOr<Kernel> KernelOfModule(const hlo::Module& module);

}  // namespace smelt::fusion

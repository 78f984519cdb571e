// Computations that nothing reaches from the entry.
#pragma once

#include "hlo/module.h"

namespace smelt::hlo {

// Removes these computations and says whether there were any. Linear, does not recurse.
bool RemoveUnreachableComputations(Module& module);

}  // namespace smelt::hlo

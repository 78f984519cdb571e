// Removes copies: values are immutable, so a copy is the identity.
//
//   add(copy(x), y)   ->   add(x, y)
//
// A copy that changes the layout stays where something sees the layout (a bitcast, a caller, the outside): there the
// text says how the value lies, and another program may rely on it. Linear in the module. Returns true if the module
// changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> RemoveCopies(Module& module);

}  // namespace smelt::hlo

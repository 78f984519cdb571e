// Replaces calls by the bodies of what they call.
//
//   f(p) { ROOT e = exp(p) }      entry:  ROOT c = call(x), to_apply=f
//   after:                        entry:  ROOT e = exp(x)
//
// Front ends outline functions (relu, softmax, a layer); rewriting and fusion must see across them. Bodies of loops,
// branches and reductions are not inlined, but calls inside them are. Callees first, so that one walk is enough.
//
// Functions that call functions twice over and over would grow without bound: a call is left as it is where the module
// would exceed the larger of 131,072 instructions and eight times its size. Calls marked inlineable="false" and
// calls with control dependencies stay too. Linear in the size of the result. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> InlineCalls(Module& module);

}  // namespace smelt::hlo

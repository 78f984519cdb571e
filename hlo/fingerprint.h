// 128-bit hashes of what modules and computations compute, independent of how they are written down.
//
//   Fingerprint(module) == Fingerprint(*module.Clone())   // and of the module with all its instructions renamed
//
// Two computations have the same fingerprint when their graphs are the same: opcodes, shapes, attributes with all
// constant values, the computations that they call, and how operands are connected. Names, ids, metadata, and the order
// in which instructions were added do not count; the order of operands and the numbers of parameters do, and so does
// sharing: x + x is not x + y, whatever x and y are. Layouts count only where they change values, at a bitcast.
// Instructions that the root does not need count if they have side effects.
//
// Linear in the size of the computation and of what it calls; kernel caches and records are keyed by it, so its value
// must not change between versions without a reason.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "hlo/module.h"

namespace smelt::hlo {

Hash128 Fingerprint(const Module& module);
Hash128 FingerprintComputation(const Computation& computation);

// Fingerprints of many computations of one module, each called computation hashed once.
class Fingerprinter {
 public:
  Hash128 Of(const Computation& computation);

 private:
  absl::flat_hash_map<const Computation*, Hash128> known_;
};

}  // namespace smelt::hlo

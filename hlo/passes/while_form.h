// What passes that rewrite loops share: the form of a loop that they can rewrite, and bodies that no other loop shares.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "hlo/module.h"

namespace smelt::hlo {

// The one parameter of a body or a condition; null where it has another number of them.
Instruction* LoopState(const Computation& computation);

// A state tuple that body and condition read by element, and that the body makes anew; no control dependencies.
bool HasPlainForm(const Instruction& loop);

// The element that a get-tuple-element reads.
int64_t ElementIndex(const Instruction& get);

// Every user of the tuple is a get-tuple-element.
bool ReadsOnlyElements(const Instruction& tuple);

// The body hands element `index` on as it is. The loop must have the plain form.
bool IsInvariantElement(const Instruction& loop, int64_t index);

// How often the computations of a module are called, so that one that several loops call is copied before it changes.
class LoopBodies {
 public:
  explicit LoopBodies(Module& module);

  // Gives the loop a body and a condition of its own.
  void MakeOwn(Instruction& loop);
  // Another instruction that calls `computation` was added.
  void AddCall(const Computation* computation) { ++calls_[computation]; }

 private:
  Computation* Own(Computation* computation);

  Module& module_;
  absl::flat_hash_map<const Computation*, int64_t> calls_;
};

}  // namespace smelt::hlo

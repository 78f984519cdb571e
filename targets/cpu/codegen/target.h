// The CPU that our own kernels are compiled for: a machine, and what LLVM calls it.
//
//   Target target;               // an ordinary machine; processor/detect.h knows the one at hand
//   target.name = "znver4";
#pragma once

#include <string>

#include "base/hash.h"
#include "machine/machine.h"

namespace smelt::cpu {

struct Target : machine::Machine {  // `name` is LLVM's of the CPU
  std::string features;             // LLVM's feature string; empty: what the CPU's name implies

  std::string ToString() const;  // "cpu:znver4,threads=2": ParseTarget reads it (names, not peaks)
  // Covers what changes generated code: CPU, features, vector width. It is part of every cache key.
  Hash128 CodeHash() const;
};

}  // namespace smelt::cpu

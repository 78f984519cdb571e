// Takes modules apart that come fused, such as XLA's after_optimizations dumps, into a flat program and the
// configuration that they are.
//
//   Unfused flat = Unfuse(module).value();
//   Space space = Space::Build(*flat.module, rules).value();
//   Config given = GivenFusion(space, flat);
#pragma once

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "hlo/module.h"

namespace smelt::fusion {

struct Unfused {
  std::unique_ptr<hlo::Module> module;
  // The fusion that an instruction of the flat module came from, numbered from 0; others are not listed.
  absl::flat_hash_map<const hlo::Instruction*, int32_t> fusion_of;
  int32_t fusions = 0;
};

// Inlines every fusion of the executed computations, nested ones too (they count as part of the outermost). Computes
// the same. Where a producer was copied into several fusions, each copy is an instruction. Linear in the flat program.
// Custom fusions too: their configuration says how another compiler runs them, their computation what they compute.
// Errors: a fusion without a computation.
absl::StatusOr<Unfused> Unfuse(const hlo::Module& module);

// Fuses what came from one fusion, then legalises. `space` must be of `unfused.module`.
Config GivenFusion(const Space& space, const Unfused& unfused);

}  // namespace smelt::fusion

// What XLA itself fuses, as a configuration of our space: where a search starts that is to be no worse.
//
//   fusion::Config own = OwnFusions(space, *fused_by_xla).value();
//
// The two modules come from two runs of XLA's passes over one program, with its fusion and without. They are matched by
// what their instructions compute: opcode, layouts, attributes, and the same of the operands, down to the parameters
// of the computations, which run in the same order in both. Copies that only one of them has are looked through. An
// edge is fused where one of XLA's fusions holds both of its ends; a producer that XLA copied into several fusions is
// in each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "hlo/module.h"

namespace smelt::xla {

struct OwnFusionsReport {
  int64_t fusions = 0;                     // of XLA's, with two or more instructions
  std::map<std::string, int64_t> refused;  // edges that are not legal, by the code of the reason (fusion/reason.h)
  int64_t edges = 0;                       // of ours that are inside of one of XLA's, legal or not
  int64_t found = 0;                       // of these, all of whose instructions the space's module has
};

// The legal part of XLA's fusions.
absl::StatusOr<fusion::Config> OwnFusions(const fusion::Space& space, const hlo::Module& fused_by_xla,
                                          OwnFusionsReport* report = nullptr);

}  // namespace smelt::xla

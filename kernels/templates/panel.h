// The operand of a contraction that many rows share, laid out once a call in the order in which register tiles read it:
// strips as wide as a register tile, each one a run of memory over the whole sum.
//
// A panel is a stage at the root, in memory that all threads see, and reads nothing but its operand: it is a phase of
// its own that all threads share, and for an operand that is known before the call it need not run in the call at all.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

// How a shared operand comes to the register tiles.
struct Panel {
  enum class Kind : uint8_t {
    kNone,      // read where it lies: a copy would not pay
    kCopied,    // packed at the root
    kComputed,  // an elementwise operation that nothing else reads: computed at the root in the panel's order
    kNear,      // such an operation too, the picture of a small depthwise window: computed beside the windows
  };
  Kind kind = Kind::kNone;
  const te::Operation* sum = nullptr;  // that reads it
  const Access* access = nullptr;      // points into the nest
};
Panel PanelOf(const Structure& structure, const Nest& nest, const te::Operation& sum, const RegisterTile& registers);

// Schedules a panel of kind kCopied or kComputed that the stage `reader`, which has no loops of its own order yet or
// any, reads.
absl::Status PackAtRoot(schedule::Schedule& schedule, const NestInput& input, const Panel& panel,
                        const std::string& reader, const RegisterTile& registers);

// Computes a panel of kind kNear in thread scratch at a loop of the stage `root`.
absl::Status ComputeNear(schedule::Schedule& schedule, const NestInput& input, const Panel& panel,
                         const std::string& root, const std::string& loop, const RegisterTile& registers);

}  // namespace smelt::kernels::nests

// The operand of a contraction that many rows share, copied once a call into the order in which register tiles read it:
// strips as wide as a register tile, each one a run of memory over the whole sum.
//
// A panel is usually a stage at the root, in memory that all threads see, and reads nothing but its operand: it is a
// phase of its own that all threads share, and for an operand that is known before the call it need not run in the call
// at all. Only where one pass over the rows uses a large matrix that is an argument, the panel is made block by block
// beside that pass: to write it to memory and read it again would take as long as the products.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

// Vectors of an operand's row that are packed before the next row is. A row goes to as many strips of the panel, which
// lie a multiple of the cache's way apart: a few at a time, in runs that are still long.
inline constexpr int64_t kRunVectors = 8;

// How a shared operand comes to the register tiles.
struct Panel {
  enum class Kind : uint8_t {
    kNone,      // read where it lies: a copy would not pay
    kCopied,    // packed
    kComputed,  // an elementwise operation that nothing else reads: computed in the panel's order
    kWindow,    // such an operation too, the picture of a small depthwise window: computed beside the windows
  };
  Kind kind = Kind::kNone;
  const te::Operation* sum = nullptr;  // that reads it
  const Access* access = nullptr;      // points into the nest
};
Panel PanelOf(const Structure& structure, const Nest& nest, const te::Operation& sum, const RegisterTile& registers);

// Whether the operand's values are known before the call: it is a known input, or computed of these alone.
bool IsKnown(const te::Operation& operand, const KnownInputs& known);

// Makes a panel that the stage `reader` reads a stage at the root, with its loops and its parallel loop.
absl::Status PackAtRoot(schedule::Schedule& schedule, const NestInput& input, const Panel& panel,
                        const std::string& reader, const RegisterTile& registers);

// Makes it in thread scratch at a loop of the stage `consumer`, within which `reader` reads `columns` of it at most.
absl::Status PackAt(schedule::Schedule& schedule, const NestInput& input, const Panel& panel, const std::string& reader,
                    const std::string& consumer, const std::string& loop, int64_t columns,
                    const RegisterTile& registers);

}  // namespace smelt::kernels::nests

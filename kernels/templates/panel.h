// The operand of a contraction that many rows share, copied once a call into the order in which register tiles read it:
// strips as wide as a register tile, each one a run of memory over the whole sum.
//
// A panel is a stage at the root, in memory that all threads see, where tiles of several threads read it, or where its
// operand is known before the call: a phase of its own that all threads share, and that need not run in the call at
// all. Where the strips alone are pieces enough for all threads, each piece makes the strip that it reads, in scratch
// of its thread: nobody waits, and nothing moves from core to core. And where one pass over the rows uses a large
// matrix that is an argument, the panel is made block by block beside that pass: to write it to memory and read it
// again would take as long as the products.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

// Vectors of an operand's row that are packed before the next row is. A row goes to as many strips of the panel, which
// lie a multiple of the cache's way apart: a few at a time, in runs that are still long.
inline constexpr int64_t kRunVectors = 16;

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

  // Whether iterations of this axis of the sum read other parts of the operand.
  bool ChangesAlong(size_t axis) const { return DependsOn(*access, sum->axes[axis].var); }
};
Panel PanelOf(const Structure& structure, const Nest& nest, const te::Operation& sum, const RegisterTile& registers,
              const KnownInputs& known, const machine::Machine& target);
// Those of several sums, without kNone.
std::vector<Panel> PanelsOf(const Structure& structure, const Nest& nest, const std::vector<const te::Operation*>& sums,
                            const RegisterTile& registers, const KnownInputs& known, const machine::Machine& target);

// Whether the access reads the root of an elementwise nest that nothing but its reader reads and that is no output.
bool IsPrivate(const Structure& structure, const Access& access);

// Whether the operand's values are known before the call: it is a known input, or computed of these alone.
bool IsKnown(const te::Operation& operand, const KnownInputs& known);

// Whether the loops over the tiles that read other parts of these panels, and they alone, give equal work to all
// threads, so that each of their iterations can make what it reads of the panels. `tile`: of the main operation's axes.
bool PiecesPackTheirOwn(const Nest& nest, const std::vector<Panel>& panels, const std::vector<int64_t>& tile,
                        const KnownInputs& known, int threads);

// Makes a panel that the stage `reader` reads a stage at the root, with its loops and its parallel loop. Where `reader`
// sums in blocks of `block` terms of its last axis (0: it does not), the strips of a block follow each other, and the
// panel is read from its beginning to its end: strips over the whole sum, of each of which a block takes a piece, lie
// on other pages each. 128 x 768 times known 768 x 3,072 takes 5.8 ms on a Zen 4, and 6.5 so. Returns the panel's
// stage; empty where `reader` does not read the operand.
absl::StatusOr<std::string> PackAtRoot(schedule::Schedule& schedule, const NestInput& input, const Panel& panel,
                                       const std::string& reader, const RegisterTile& registers, int64_t block);

// Makes it in thread scratch at a loop of the stage `consumer`, within which `reader` reads `columns` of it at most.
absl::Status PackAt(schedule::Schedule& schedule, const NestInput& input, const Panel& panel, const std::string& reader,
                    const std::string& consumer, const std::string& loop, int64_t columns,
                    const RegisterTile& registers);

}  // namespace smelt::kernels::nests

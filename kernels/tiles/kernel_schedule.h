// The schedule of a whole kernel: one template a nest.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nests/structure.h"
#include "kernels/schedule/schedule.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Whether the tile divides the nest: as many extents as dimensions, each between 1 and its dimension.
absl::Status CheckTile(const Nest& nest, const Tile& tile);

// The tile itself, or, where it says nothing but an algorithm, the piece of work that its estimate prefers.
// InvalidArgument: the nest is not that of the algorithm, because something else dominates the kernel.
absl::StatusOr<Tile> WithExtents(const Nest& nest, const Tile& tile, const machine::Machine& target);

struct ScheduleOptions {
  // At most so many of a contraction's accumulators in registers, where the compiler has room for fewer than the
  // templates think; 0: as many as these choose (ChooseRegisterTile of templates/register_tile.h).
  int64_t accumulators = 0;
  // Placeholders of the graph whose values are known before the call. What is packed of them alone becomes a phase of
  // its own, which can then run before.
  KnownInputs known;
};

// `tile` divides the main nest; the others take what they prefer.
absl::StatusOr<schedule::Schedule> ScheduleStructure(const Structure& structure, const std::vector<int64_t>& tile,
                                                     const machine::Machine& target,
                                                     const ScheduleOptions& options = {});

// Schedules the main nest; adds the roots of other nests that it computes at its own loops to `placed`.
using MainScheduler =
    std::function<absl::Status(schedule::Schedule& schedule, absl::flat_hash_set<const te::Operation*>* placed)>;
// The same with another schedule of the main nest. `main` is not called where a nest that reads it has placed it.
absl::StatusOr<schedule::Schedule> ScheduleStructure(const Structure& structure, const MainScheduler& main,
                                                     const machine::Machine& target,
                                                     const ScheduleOptions& options = {});

}  // namespace smelt::kernels::nests

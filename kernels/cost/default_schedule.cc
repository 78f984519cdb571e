#include "kernels/cost/default_schedule.h"

#include <optional>

#include "kernels/cost/algorithm_choice.h"
#include "kernels/tiles/tiles.h"

namespace smelt::kernels::cost {

absl::StatusOr<schedule::Schedule> DefaultSchedule(const hlo::Computation& kernel, const machine::Machine& target) {
  if (const std::optional<nests::Tile> tile = DefaultAlgorithm(kernel, /*weights_known=*/false, target)) {
    absl::StatusOr<schedule::Schedule> schedule = nests::ScheduleForTile(kernel, *tile, target);
    if (schedule.ok()) return schedule;
  }
  return nests::PreferredSchedule(kernel, target);
}

}  // namespace smelt::kernels::cost

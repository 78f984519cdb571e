#include "kernels/cost/default_schedule.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
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

bool IsStreamed(int64_t bytes, int64_t distance, const machine::Machine& target) {
  constexpr int64_t kLeastBytes = 32 << 10;  // the last lines are waited for at a kernel's end
  // Programs share the last cache, and it keeps no strict order: what was touched longer ago than so is gone.
  constexpr double kShareOfCache = 0.75;
  const double cache = static_cast<double>(target.levels[target.levels.size() - 2].bytes);
  return bytes >= kLeastBytes && static_cast<double>(distance) >= kShareOfCache * cache;
}

std::vector<int64_t> StreamedResults(const hlo::Computation& kernel, absl::Span<const int64_t> distances,
                                     const machine::Machine& target) {
  std::vector<int64_t> streamed;
  std::vector<const hlo::Shape*> results;
  kernel.root()->shape().AppendLeaves(&results);
  if (distances.size() < results.size()) return streamed;
  distances.remove_prefix(distances.size() - results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]->IsArray() && IsStreamed(results[i]->ByteSize(), distances[i], target))
      streamed.push_back(static_cast<int64_t>(i));
  }
  return streamed;
}

std::string StreamedRemark(absl::Span<const int64_t> streamed) {
  return streamed.empty() ? "" : absl::StrCat("# past the caches: results ", absl::StrJoin(streamed, " "), "\n");
}

absl::StatusOr<std::string> DefaultTrace(const hlo::Computation& kernel, absl::Span<const int64_t> distances,
                                         const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const schedule::Schedule schedule, DefaultSchedule(kernel, target));
  return absl::StrCat(schedule.ToString(), StreamedRemark(StreamedResults(kernel, distances, target)));
}

}  // namespace smelt::kernels::cost

#include "gnn/features/schedule_features.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/cost/default_schedule.h"
#include "kernels/loop_features/features.h"

namespace smelt::gnn {
namespace {

using kernels::loop_features::Kind;

constexpr char kPrefix[] = "schedule: ";

absl::StatusOr<std::vector<float>> FactsOf(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(const kernels::schedule::Schedule schedule, kernels::cost::DefaultSchedule(kernel, target));
  return kernels::loop_features::Features(schedule, target, Kind::kMachine);
}

}  // namespace

const std::vector<std::string>& ScheduleFeatureNames() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>{absl::StrCat(kPrefix, "there is one")};
    for (const std::string& fact : kernels::loop_features::Names(Kind::kMachine))
      list->push_back(absl::StrCat(kPrefix, fact));
    return list;
  }();
  return *names;
}

bool IsOfSchedule(std::string_view column) { return column.starts_with(kPrefix); }

std::vector<float> ScheduleFeatures(const hlo::Computation& kernel, const machine::Machine& target) {
  std::vector<float> row{1};
  const absl::StatusOr<std::vector<float>> facts = FactsOf(kernel, target);
  if (!facts.ok()) return std::vector<float>(ScheduleFeatureNames().size(), 0.0f);
  row.insert(row.end(), facts->begin(), facts->end());
  return row;
}

}  // namespace smelt::gnn

#include "targets/cpu/program/leaves_of_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace smelt::cpu {

std::vector<std::vector<int64_t>> LeavesOfJobs(
    const BuiltProgram& built, absl::FunctionRef<std::vector<int64_t>(const runtime::Step& step, bool outermost)> at) {
  std::vector<std::optional<std::vector<int64_t>>> of_job(built.jobs.size());
  const auto visit = [&](const auto& self, const runtime::Sequence& steps, bool outermost) -> void {
    for (const runtime::Step& step : steps) {
      for (const runtime::Sequence& sequence : step.sequences) self(self, sequence, false);
      if (step.kind != runtime::Step::Kind::kKernel) continue;
      std::vector<int64_t> here = at(step, outermost);
      std::optional<std::vector<int64_t>>& all = of_job[step.job];
      if (all) std::erase_if(*all, [&](int64_t i) { return std::find(here.begin(), here.end(), i) == here.end(); });
      if (!all) all = std::move(here);
    }
  };
  visit(visit, built.program.steps, /*outermost=*/true);
  std::vector<std::vector<int64_t>> leaves;
  for (std::optional<std::vector<int64_t>>& all : of_job)
    leaves.push_back(std::move(all).value_or(std::vector<int64_t>()));
  return leaves;
}

}  // namespace smelt::cpu

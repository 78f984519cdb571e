#include "vdla/lower/token_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/str_cat.h"
#include "vdla/isa/instruction.h"
#include "vdla/isa/token_replay.h"

namespace smelt::vdla::lower {
namespace {

using isa::Access;
using isa::kUnits;
using isa::NameOf;
using isa::StepClock;

// The last step of each unit that touched an element or byte.
struct Latest {
  StepClock read = {-1, -1, -1}, write = {-1, -1, -1};
};

// Finds accesses that nothing orders, as the steps come by.
class Races {
 public:
  explicit Races(absl::Span<const Step> steps) : steps_(steps) {
    for (size_t i = 0; i < steps.size(); ++i) last_[static_cast<size_t>(steps[i].unit)] = static_cast<int64_t>(i);
  }

  absl::Status Visit(int64_t number, const StepClock& known) {
    const Step& step = steps_[static_cast<size_t>(number)];
    const auto self = static_cast<int>(step.unit);
    if (step.waits_for_all) {
      for (int other = 0; other < kUnits; ++other) {
        if (other != self && known[other] < last_[other])
          return Race(number, last_[other], "which the end does not wait for");
      }
    }
    if (step.accesses == nullptr) return absl::OkStatus();
    for (const Access& access : *step.accesses) {
      for (uint64_t i = 0; i < access.run.count; ++i) {
        const uint64_t begin = access.run.begin + i * access.run.stride;
        for (uint64_t at = begin; at < begin + access.run.length; ++at) {
          Latest& latest = latest_[{static_cast<int>(access.space), at}];
          for (int other = 0; other < kUnits; ++other) {
            if (other == self) continue;
            const int64_t conflict =
                access.write ? std::max(latest.read[other], latest.write[other]) : latest.write[other];
            if (conflict > known[other]) return Race(number, conflict, StrCat("at ", NameOf(access.space), " ", at));
          }
          (access.write ? latest.write : latest.read)[self] = number;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Race(int64_t step, int64_t other, const std::string& where) const {
    return absl::InvalidArgumentError(StrCat("race: step ", step, " (", UnitName(step), ") and step ", other, " (",
                                             UnitName(other), ") are not ordered, ", where));
  }
  std::string_view UnitName(int64_t step) const { return NameOf(steps_[static_cast<size_t>(step)].unit); }

  const absl::Span<const Step> steps_;
  StepClock last_ = {-1, -1, -1};
  absl::flat_hash_map<std::pair<int, uint64_t>, Latest> latest_;
};

}  // namespace

absl::Status CheckTokens(absl::Span<const Step> steps, absl::Span<const PlannedStep> flags, int64_t depth) {
  Check(steps.size() == flags.size(), "flags for each step");
  std::vector<isa::TokenStep> replayed;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PlannedStep& f = flags[i];
    replayed.push_back({steps[i].unit, f.pop_prev, f.pop_next, f.push_prev, f.push_next});
  }
  Races races(steps);
  isa::ReplayOptions options{.token_depth = depth, .work = {}, .name = {}};
  options.work = [&](int64_t step, const StepClock& known) { return races.Visit(step, known); };
  return isa::ReplayTokens(replayed, options);
}

}  // namespace smelt::vdla::lower
